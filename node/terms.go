package node

import (
	"fmt"
	"time"

	"sotto/config"
	"sotto/node/roster"
)

// Agree takes over what all members have signed, if they have. A value of c that was
// chosen, and is another one, is refused, but for the deadline where nodes wait: there it
// says when an owner is told.
func (c *Config) Agree(t *roster.Terms) error {
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
		if d.key == "deadline" && t.Missing == Wait && *d.have != 0 {
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

// agree notes whether a neighbor runs under the same terms. Where all have signed them it
// does, whatever it says. Node.mu is held.
func (w *witness) agree(l *link, terms uint64) {
	l.other = !w.n.cfg.SignedTerms && terms&proceeds != w.n.cfg.terms()&proceeds
}

// differ is the error of a node whose neighbors wait in another way. One is enough where
// every round waits for everybody. A node that goes on without whoever is missing does so
// without those, unless nobody else has answered; late says that its deadline has passed.
// Node.mu is held.
func (w *witness) differ(late bool) error {
	n := w.n
	var first *link
	others, alike := 0, 0
	for _, l := range n.order {
		switch {
		case l.other:
			if others++; first == nil {
				first = l
			}
		case l.word:
			alike++
		}
	}
	if first == nil || n.cfg.Missing == Proceed && others < len(n.order) && (!late || alike > 0) {
		return nil
	}
	return fmt.Errorf("%w: this node is to %s for peers that miss a deadline, %s is not; allowed: "+
		"the same --missing for all members", ErrTerms, n.cfg.Missing, n.name(first.id))
}
