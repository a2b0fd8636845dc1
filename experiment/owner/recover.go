package owner

import (
	"fmt"

	"sotto/experiment"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
)

// Recover brings the private iterate of algorithm km with own_state to where the owner's
// algorithm is, after Gate and Algorithm, once the algorithm has its stored state;
// resumed: there was one. Owners without such an iterate have nothing to recover.
//
// The iterate itself is never stored. It follows from points and steps of the answers in
// use, all of them public, which are part of the algorithm's state: a node stores that
// before anything that came of an answer leaves. An answer that was charged and not
// stored is known to nobody, and the iterate does not move by it: the node asks again,
// for another charge and with fresh noise. The sensitivity that a charge states holds for
// any list of public queries, so that an older state is no less private than the newest
// one. privacy.ErrRefused: the ledger has charges of this run, and the state is gone.
func (o *Owner) Recover(l *ledger.File, run string, resumed bool) error {
	switch {
	case !o.remembers():
		return nil
	case !resumed:
		return unasked(l, run)
	}
	return experiment.RecoverFrom(o.gate, o.bare)
}

// unasked refuses to begin a run anew that has charges.
func unasked(l *ledger.File, run string) error {
	if r := l.Run(run); r.Count > 0 {
		return fmt.Errorf("%w: own_state: the ledger has charges of this run from record %d on, and "+
			"no stored state names the answers that the private iterate follows from; allowed: the "+
			"state directory that the run began with, or a new roster",
			privacy.ErrRefused, r.First)
	}
	return nil
}

// Erase clears the private iterate, when nothing is asked any more.
func (o *Owner) Erase() {
	if o.gate != nil {
		o.gate.Erase()
	}
}

// remembers reports whether what the owner's data side goes on with follows from all
// answers.
func (o *Owner) remembers() bool {
	for _, a := range o.plan().Asks {
		if oracle.Kinds[a.Query.Oracle].Private {
			return true
		}
	}
	return false
}

// whole reports whether no round of the run may be left out: answers move a private
// iterate, or figures of what members learn of each other hold for the planned mixing.
func whole(o *Owner) bool { return o.remembers() || experiment.AveragingRounds(o.e.File) > 0 }

// growth is by how many bytes every answer makes checkpoints longer.
func (o *Owner) growth() int {
	if !o.remembers() {
		return 0
	}
	return 8 + 4*o.e.Task.Model.Dim()
}
