package owner

import (
	"fmt"
	"time"

	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/node/roster"
	"sotto/topology"
)

// waits refuses to go on without a member where a run cannot: every node would refuse it
// at its start. Among the reasons, the records of a member that is missing would be
// missing in the answers to questions, which nobody's intervals hold.
func waits(f *experiment.File, missing string) error {
	if missing != node.Proceed {
		return nil
	}
	why := experiment.NeedsAll(f)
	if why == "" {
		return nil
	}
	return config.Bad("missing", missing, node.Wait+" with algorithm "+f.Algorithm.Name+": "+why)
}

// waitsOn is waits for the graphs of a run.
func waitsOn(s topology.Schedule, missing string) error {
	g, err := topology.Union(s)
	if err == nil && missing == node.Proceed && (g.Directed() || len(topology.Period(s)) != 1) {
		err = config.Bad("missing", missing, node.Wait+", where links have one direction or change: who is "+
			"left out cannot be told to catch up")
	}
	return err
}

// agree takes into c what all members have signed, if they have. A value of c that was
// chosen, and is another one, is refused, but for the deadline where nodes wait: there it
// says when an owner is told.
func agree(c *node.Config, t *roster.Terms) error {
	if t == nil {
		return nil
	}
	if c.Missing != "" && c.Missing != t.Missing {
		return config.Bad("missing", c.Missing, t.Missing+", which all members have signed")
	}
	for _, d := range []struct {
		key    string
		have   *time.Duration
		signed string
	}{{"deadline", &c.Deadline, t.Deadline}, {"patience", &c.Patience, t.Patience}} {
		signed, err := time.ParseDuration(d.signed)
		if err != nil {
			return config.Bad("terms."+d.key, d.signed, "a duration")
		}
		if d.key == "deadline" && t.Missing == node.Wait && *d.have != 0 {
			continue
		}
		if *d.have != 0 && *d.have != signed {
			return config.Bad(d.key, *d.have, fmt.Sprintf("%v, which all members have signed", signed))
		}
		*d.have = signed
	}
	c.Missing, c.SignedTerms = t.Missing, true
	return nil
}
