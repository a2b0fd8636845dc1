package owner

import (
	"fmt"
	"strings"

	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/plan"
	"sotto/privacy/account"
)

// Outlook returns what the whole run comes to for the owner.
func (o *Owner) Outlook() (forecast.Agent, error) { return forecast.OfAgent(o.e, 0) }

// Drowned says that noise outweighs what a run with this outlook can learn; "": it does
// not. The other members are taken to be as this one.
func Drowned(o *Owner, look forecast.Agent) string {
	return forecast.Warn(o.e.File, []forecast.Agent{look})
}

// WithReserve returns the epsilon of the run's charges with all of its reserve.
func (o *Owner) WithReserve() (account.Interval, error) {
	t := &o.e.Setup.Target
	costs := o.plan().Costs()
	for k := range costs {
		costs[k].Times += t.Reserve
	}
	return t.Cost(costs...)
}

// Admits returns how many of the run's charges, in the order of [Owner.Terms], a ledger
// with this budget admits in which nothing is charged yet, run after run: it is asked of
// the filter that durable ledgers have.
func (o *Owner) Admits(b account.Budget) (int, error) {
	t := &o.e.Setup.Target
	return admits(o.plan().Costs(), func() (*account.RDPFilter, bool, error) {
		filter, err := account.NewRDPFilter(t.Adjacency, t.Unit, b)
		return filter, false, err
	})
}

// admits returns how many charges, of costs in their order, run after run, a filter
// admits that fill makes; exhausted: none.
func admits(costs []plan.Cost, fill func() (filter *account.RDPFilter, exhausted bool, err error)) (int,
	error) {
	const most = 1 << 40
	run := 0
	for _, c := range costs {
		run += c.Times
	}
	if run == 0 {
		return most - 1, nil
	}
	admits := func(n int) (bool, error) {
		filter, exhausted, err := fill()
		if err != nil || exhausted {
			return false, err
		}
		rest := n % run
		for _, c := range costs {
			last := min(rest, c.Times)
			rest -= last
			if times := n/run*c.Times + last; times > 0 && filter.Admit(c.Event, times) != nil {
				return false, nil
			}
		}
		return true, nil
	}
	low, high := 0, 1
	for ; high < most; low, high = high, 2*high {
		if ok, err := admits(high); err != nil || !ok {
			break
		}
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		ok, err := admits(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	_, err := admits(1)
	return low, err
}

// Schema says what a record of the owner's file is read as.
func (o *Owner) Schema() string {
	d := o.e.Task.Split.Train
	if n := len(experiment.QuestionsOf(o.e)); n > 0 {
		return fmt.Sprintf("%d numbers of each record, for %d questions", d.X.Cols, n)
	}
	if d.Classes == 0 {
		return fmt.Sprintf("%d features, a number to predict", d.X.Cols)
	}
	return fmt.Sprintf("%d features, %d classes (%s)", d.X.Cols, d.Classes, strings.Join(d.ClassNames, ", "))
}
