package owner

import (
	"cmp"
	"fmt"
	"time"

	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/node/roster"
)

// waits refuses to ask questions where rounds go on without a member: its records would
// be missing in the answers of all, which nobody's intervals hold.
func waits(f *experiment.File, missing string) error {
	if missing == node.Proceed && experiment.Asks(f) {
		return config.Bad("missing", missing, node.Wait+" with algorithm "+f.Algorithm.Name+
			": what a member who is missing would have sent, the answers of all others lack")
	}
	return nil
}

// CheckPad refuses a time of answers that is not below the deadline of a round: no
// message of this member would come in time.
func (m *Membership) CheckPad(pad time.Duration) error {
	if deadline := cmp.Or(m.Node.Deadline, node.DefaultDeadline); pad >= deadline {
		return config.Bad("pad", pad, fmt.Sprintf("0 to below the deadline of a round, %v", deadline))
	}
	return nil
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
