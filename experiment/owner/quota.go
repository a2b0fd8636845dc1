package owner

import (
	"errors"
	"fmt"

	"sotto/experiment/plan"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// limit is the ledger as one run may use it, less what the run has charged before.
// Without target_epsilon an algorithm of rounds is limited by the owner's lifetime budget
// alone.
func (o *Owner) limit(l *ledger.File, run string) (*runLedger, error) {
	limited := &runLedger{File: l, tight: &o.tight, shared: o.e.Setup.Scheme.Shared()}
	var err error
	if limited.filter, err = quotaOf(o); err != nil {
		return nil, err
	}
	return limited, limited.deduct(l.Run(run))
}

// quotaOf is what the run may charge; nil: what the lifetime budget admits.
func quotaOf(o *Owner) (*account.CountFilter, error) {
	if p := o.plan(); p.Limited || o.e.File.Pace.OwnPlans {
		return p.Quota(o.e.Setup.Target.Reserve)
	}
	return nil, nil
}

// use takes charges from a quota. What goes beyond it, which a rollback may bring, leaves
// nothing.
func use(quota *account.CountFilter, charges []ledger.ChargeOf) error {
	for _, c := range charges {
		left := uint64(quota.Left(c.Event))
		err := quota.Admit(c.Event, int(max(1, min(c.Count, left))))
		if errors.Is(err, account.ErrUnsupported) {
			return fmt.Errorf("%w: this run has charged %d answers of another plan, as of another number of "+
				"records; allowed: the data that it began with, or a new roster: %w", privacy.ErrRefused,
				c.Count, err)
		}
		if err != nil && !errors.Is(err, account.ErrExhausted) {
			return err
		}
	}
	return nil
}

// runLedger admits no more than one run may charge.
type runLedger struct {
	*ledger.File
	filter *account.CountFilter // nil: what the ledger's own budget admits
	tight  *allowance
	round  uint64
	shared bool // noise is shared with neighbors
	// rounds before it have had answers in another process, or may have, whose shared
	// noise must not serve again
	from uint64
}

// deduct takes what the run has charged from its quota.
func (r *runLedger) deduct(c ledger.RunCharges) error {
	if r.shared && c.Count > 0 {
		r.from = max(r.from, c.Round+1)
	}
	if r.filter == nil {
		return nil
	}
	return use(r.filter, c.Of)
}

// SetRound notes the round of later charges.
func (r *runLedger) SetRound(round uint64) {
	r.round = round
	r.File.SetRound(round)
}

// Charge implements ledger.Ledger.
func (r *runLedger) Charge(ev account.Event) (uint64, error) {
	if r.round < r.from {
		return 0, fmt.Errorf("%w: round %d", privacy.ErrAbstain, r.round)
	}
	if r.filter != nil {
		if err := r.filter.Admit(ev, 1); err != nil {
			return 0, fmt.Errorf("what the run may charge: %w", err)
		}
	}
	if err := r.tight.admit(r.File, ev); err != nil {
		return 0, err
	}
	return r.File.Charge(ev)
}

// Missing returns the charges that stand for a number of missing charges of this run, of
// which nobody knows the kinds: so many of each kind of answer that the run asks for.
// That is sound, since each of the missing ones was of one of them, and too much where a
// run has several.
func (o *Owner) Missing(charges uint64) (all []ledger.ChargeOf) {
	if charges == 0 {
		return nil
	}
	p := o.plan()
	for _, ev := range p.Events {
		known := false
		for _, c := range all {
			known = known || c.Event.Equal(ev)
		}
		if !known {
			all = append(all, ledger.ChargeOf{Count: charges, Event: ev})
		}
	}
	return all
}

// RollBack charges what the ledger of a run lacks since it was rolled back: missing
// charges of each kind that the run asks for, see [Owner.Missing], in place of r.Charges.
// The run's own quota and a policy's smaller budget count them too. It must not be called
// beside an answer; with equal evidence it may be called again. Errors as of
// [ledger.File.RollBack].
func (o *Owner) RollBack(l *ledger.File, missing uint64, r ledger.RolledBack) error {
	r.Charges = o.Missing(missing)
	before := l.Total()
	if err := l.RollBack(r); err != nil {
		return err
	}
	o.tight.renew()
	if o.limited == nil || o.limited.File != l || l.Total() == before {
		return nil
	}
	return o.limited.deduct(ledger.RunCharges{Count: missing, Round: r.Round, Of: r.Charges})
}

// Left is what a run may still ask of the data by the ledger that it is charged to.
type Left struct {
	Found  ledger.Found
	Budget account.Budget // of the ledger
	// Policy is that of the policy where the ledger's own is larger; nil: it is not.
	Policy *account.Budget
	Spent  account.StatedInterval
	// Total is the number of charges so far, Past of them by this run.
	Total, Past uint64
	// Admits is how many further charges of the run's kinds Budget and Policy admit.
	Admits int
	// Quota is how many further charges the run's own plan admits; negative: no limit.
	Quota int
}

// leftOf finds it, without a change of anything; books is nil for a ledger that is still
// to be made, with the policy's budget.
func leftOf(o *Owner, books *ledger.Books, run string, policy account.Budget) (*Left, error) {
	out := &Left{Budget: policy, Quota: -1}
	var past ledger.RunCharges
	var err error
	if books != nil {
		var c ledger.Claim
		if c, err = books.Spent(); err != nil {
			return nil, err
		}
		past = books.Run(run)
		out.Budget, out.Spent = books.Genesis().Budget, c.Epsilon
		out.Total, out.Past = books.Total(), past.Count
		out.Admits, err = admits(o.plan().Costs(), filling(books, out.Budget))
		if err == nil && smaller(policy, out.Budget) {
			out.Policy = &policy
			var n int
			n, err = admits(o.plan().Costs(), filling(books, policy))
			out.Admits = min(out.Admits, n)
		}
	} else {
		out.Admits, err = o.Admits(policy)
	}
	if err != nil {
		return nil, err
	}
	quota, err := quotaOf(o)
	if err != nil || quota == nil {
		return out, err
	}
	if err := use(quota, past.Of); err != nil {
		return nil, err
	}
	out.Quota = remaining(o.plan(), quota)
	return out, nil
}

// filling makes a budget's filter with all charges of the past.
func filling(books *ledger.Books, b account.Budget) func() (*account.RDPFilter, bool, error) {
	return func() (*account.RDPFilter, bool, error) { return books.Filter(b) }
}

// remaining is how many charges of a plan its quota still admits.
func remaining(p *plan.Agent, quota *account.CountFilter) (n int) {
	for i, ev := range p.Events {
		known := false
		for _, other := range p.Events[:i] {
			known = known || other.Equal(ev)
		}
		if !known {
			n += quota.Left(ev)
		}
	}
	return n
}

// spentBefore refuses to begin a run anew whose plan has no charge left: it would train
// to its end without an answer, or without a limit of its own would ask for all of them
// again. A run of one answer, which a crash may have taken, is let through.
func (r *runLedger) spentBefore(p *plan.Agent, run string) error {
	made, would := r.Charges(run), "train without an answer"
	switch {
	case len(p.Events) == 0 || made < 2 || r.filter != nil && remaining(p, r.filter) > 0:
		return nil
	case r.filter == nil && made < uint64(p.Queries()):
		return nil
	case r.filter == nil:
		would = "ask for all of them again"
	}
	return fmt.Errorf("%w: this run has charged all %d answers that its plan allows, and the state "+
		"directory does not know of them: it would %s; allowed: the state directory that the run began "+
		"with, or a new roster", privacy.ErrRefused, made, would)
}
