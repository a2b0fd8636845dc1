package node

import "fmt"

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
