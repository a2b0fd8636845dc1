package node

import (
	"fmt"

	"sotto/node/mark"
)

// reminders are what others hold of a node's own.
type reminders struct {
	reminder *mark.Mark // the furthest mark
	debt     *mark.Mark // the mark that shows the most charges that the ledger lacks
	lineage  mark.Lineage
	former   uint64 // the process that has left the stored state
}

// remind notes a mark of this node's own that another member holds. Node.mu is held.
func (s *standing) remind(h *mark.Signed) {
	n := s.n
	if h.Process == n.nonce {
		return // what this process has said itself
	}
	if n.anew(n.cfg.Self, &h.Mark) { // it is not to go back to that place
		if h.Generation > n.generation {
			n.generation, n.signed = h.Generation, nil
		}
	} else if r := n.reminder; r == nil || h.After(r) {
		n.reminder = &h.Mark
	}
	if owes := n.owes(&h.Mark); owes > 0 && (n.debt == nil || owes > n.owes(n.debt)) {
		n.debt = &h.Mark
	}
}

// owes is how many charges the ledger lacks that a mark shows. Node.mu is held.
func (r *reminders) owes(m *mark.Mark) uint64 {
	run, others := r.lineage.Missing(m)
	return run + others
}

// lost reports whether others know this node to have been further than it is, or to have
// charged what its ledger lacks. Node.mu is held.
func (s *standing) lost() bool {
	return !s.n.check.Finished && (s.n.debt != nil || s.ahead(s.n.reminder) || s.n.before())
}

// isLost is lost of who does not hold Node.mu.
func (s *standing) isLost() bool {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	return s.lost()
}

// Astray reports whether neighbors know this node to have been further, or may, or may
// have forgotten it.
func (s *standing) Astray() bool {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	return s.untold() || s.lost() || s.n.forgotten()
}

// forgotten reports whether all neighbors had been rolled back themselves before they
// said where this node was, or this node is in a later generation and one of them had:
// what that one had seen of it last, nobody else may have. Node.mu is held.
func (w *witness) forgotten() bool {
	forgot := 0
	for _, l := range w.n.order {
		if w.known[l.id].forgot {
			forgot++
		}
	}
	return forgot > 0 && (forgot == len(w.n.order) || w.n.generation > 0)
}

// ahead reports whether a mark is of a later place than that of this node.
func (s *standing) ahead(r *mark.Mark) bool {
	if r == nil || r.Generation != s.n.generation {
		return r != nil && r.Generation > s.n.generation
	}
	return r.Round > s.n.check.Round
}

// repay has the ledger charge what a mark shows that it lacks. told: the owner is told
// where that is nothing, too.
func (s *standing) repay(m *mark.Mark, told bool) error {
	n := s.n
	n.mu.Lock()
	run, others := n.lineage.Missing(m)
	n.mu.Unlock()
	if n.cfg.OnRollback != nil && (told || run+others > 0) {
		if err := n.cfg.OnRollback(m, run, others); err != nil {
			return fmt.Errorf("rolled back from round %d: %w", m.Round, err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lineage.Charged(m)
	if n.debt != nil && n.owes(n.debt) == 0 {
		n.debt = nil // two neighbors have told the same
	}
	if n.cfg.Book != nil {
		n.book, n.signed = n.cfg.Book(), nil
	}
	return nil
}
