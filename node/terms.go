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

// likeness says how terms compare with this node's.
type likeness uint8

const (
	unheard likeness = iota
	alike
	others
)

// agree notes the terms that a neighbor runs under, and reports whether they are this
// node's. Node.mu is held.
func (w *witness) agree(l *link, terms uint64) bool {
	l.terms = others
	if terms&proceeds == w.n.cfg.terms()&proceeds {
		l.terms = alike
	}
	return l.terms == alike
}

// unlike is the error of a node that cannot go on beside its neighbors. That another
// process has its key is the word of one, whom a mark has to prove right. Who waits ends
// for one neighbor with other terms, and who goes on without others when all are of them.
// Node.mu is held.
func (w *witness) unlike() error {
	n := w.n
	if w.twin != "" && n.lost() {
		return fmt.Errorf("%w: it goes on, as %s has seen, and this one stands at %d", ErrClone, w.twin,
			n.check.Round)
	}
	var other *link
	for _, l := range n.order {
		switch {
		case n.cfg.SignedTerms:
		case l.terms == alike && n.cfg.Missing == Proceed:
			return nil
		case l.terms == others:
			other = l
		}
	}
	if other == nil {
		return nil
	}
	return fmt.Errorf("%w: this node is to %s for peers that miss a deadline, %s is not; allowed: "+
		"the same --missing for all members", ErrTerms, n.cfg.Missing, n.name(other.id))
}
