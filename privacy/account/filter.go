package account

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account/gdp"
)

// Filter decides, before a release, whether a budget allows it. It stays valid when
// events and stopping depend on earlier releases. Implementations are not safe for
// concurrent use: a ledger calls Admit under its lock.
type Filter interface {
	// Admit charges times copies of ev, or refuses with ErrExhausted and charges nothing.
	// ErrUnsupported: the filter has no proof for ev. A negative number of times is an
	// error.
	Admit(ev Event, times int) error
}

func checkTimes(times int) error {
	return bad(times >= 0 && times <= maxCount, "times", times, "0 to 2^53")
}

// CountFilter admits a fixed number of each of a fixed set of events. With the counts of
// a Plan it enforces the plan's epsilon under any accountant: when only the number and
// order of answers is adaptive, running the rest of the quota would only post-process. An
// Admit takes no more than a pointer comparison for events made once and reused.
type CountFilter struct {
	quota []quota
}

type quota struct {
	ev        Event
	left, max int
}

// NewCountFilter admits at most limit copies of ev.
func NewCountFilter(ev Event, limit int) (*CountFilter, error) {
	if ev.body == nil {
		return nil, errInvalidEvent
	}
	if err := checkTimes(limit); err != nil {
		return nil, err
	}
	return &CountFilter{[]quota{{ev, limit, limit}}}, nil
}

// NewPlanFilter admits as many periods of the plan as meet target.
func NewPlanFilter(p Plan, target Budget) (*CountFilter, error) {
	n, err := Steps(p, target)
	if err != nil {
		return nil, err
	}
	f := &CountFilter{}
	for _, s := range p.Steps {
		ev, err := s.Event(p.NoiseMultiplier, p.SampleRate)
		if err != nil {
			return nil, err
		}
		limit := n * s.Times
		if q := f.find(ev); q != nil {
			q.left, q.max = q.left+limit, q.max+limit
			continue
		}
		f.quota = append(f.quota, quota{ev, limit, limit})
	}
	return f, nil
}

func (f *CountFilter) find(ev Event) *quota {
	for i := range f.quota {
		if f.quota[i].ev == ev {
			return &f.quota[i]
		}
	}
	for i := range f.quota {
		if f.quota[i].ev.Equal(ev) {
			return &f.quota[i]
		}
	}
	return nil
}

// Admit implements Filter. NoOp is always admitted.
func (f *CountFilter) Admit(ev Event, times int) error {
	if err := checkTimes(times); err != nil {
		return err
	}
	q := f.find(ev)
	switch {
	case q != nil && q.left >= times:
		q.left -= times
		return nil
	case q != nil:
		return fmt.Errorf("%w: %d of %d answers left, %d asked", ErrExhausted, q.left, q.max, times)
	case ev.Type() == TypeNoOp:
		return nil
	case ev.body == nil:
		return errInvalidEvent
	}
	return fmt.Errorf("%w: a count filter admits only the events it was made for", ErrUnsupported)
}

// Allow admits limit more copies of ev.
func (f *CountFilter) Allow(ev Event, limit int) error {
	if ev.body == nil {
		return errInvalidEvent
	}
	if err := checkTimes(limit); err != nil {
		return err
	}
	if q := f.find(ev); q != nil {
		q.left, q.max = q.left+limit, q.max+limit
		return nil
	}
	f.quota = append(f.quota, quota{ev, limit, limit})
	return nil
}

// Left returns how many copies of ev are still admitted.
func (f *CountFilter) Left(ev Event) int {
	if q := f.find(ev); q != nil {
		return q.left
	}
	return 0
}

// additive is a filter over sums of which one does not exceed its limit: the one that
// admits most copies of the first event. Nothing has been answered when it is chosen, so
// that the choice depends on no answer. A choice at the end among all of them would: by
// events that follow from earlier answers it reaches twice the budget's delta.
type additive struct {
	limit, spent []float64
	at           int // of the chosen sum, from 1; 0: none yet
	cost         func(*body) ([]float64, error)
	t            tally // expands sequences, knows the event's adjacency and unit
	last         *body
	lastCost     []float64
}

func (f *additive) admit(ev Event, times int) error {
	if f.cost == nil {
		return errNoFilter
	}
	if err := checkTimes(times); err != nil {
		return err
	}
	if ev.body == nil {
		return errInvalidEvent
	}
	if ev.body != f.last || ev.Adjacency != 0 && ev.Adjacency != f.t.adjacency ||
		ev.Unit != (Unit{}) && ev.Unit != f.t.unit {
		sum, err := f.price(ev)
		if err != nil {
			return err
		}
		f.last, f.lastCost = ev.body, sum
	}
	if times == 0 {
		return nil
	}
	at := f.at
	if at == 0 {
		at = 1 + f.roomiest()
	}
	if !(f.spent[at-1]+float64(times)*f.lastCost[at-1] <= f.limit[at-1]) {
		return fmt.Errorf("%w: the next answer would exceed it", ErrExhausted)
	}
	if f.lastCost[at-1] > 0 {
		f.at = at
	}
	for i := range f.spent {
		// never down
		f.spent[i] = math.Nextafter(f.spent[i]+math.Nextafter(float64(times)*f.lastCost[i], math.Inf(1)),
			math.Inf(1))
	}
	return nil
}

// roomiest is the sum that admits most copies of the last event.
func (f *additive) roomiest() int {
	best := 0
	for i := range f.limit {
		if f.limit[i]*f.lastCost[best] > f.limit[best]*f.lastCost[i] || !(f.limit[best] > 0) {
			best = i
		}
	}
	return best
}

// price is the cost vector of one ev, the largest over parallel branches in every
// coordinate.
func (f *additive) price(ev Event) ([]float64, error) {
	t := tally{
		relation: f.t.relation,
		name:     f.t.name,
		supports: f.t.supports,
		lists:    make([][]entry, 1),
	}
	if ev.body.contains(TypeCyclic) {
		return nil, fmt.Errorf("%w: cyclic events by an adaptive filter; supported: a CountFilter",
			ErrUnsupported)
	}
	if err := t.Compose(ev, 1); err != nil {
		return nil, err
	}
	sum := make([]float64, len(f.limit))
	all, nonPrivate := t.branches()
	for i := range sum {
		if nonPrivate {
			sum[i] = math.Inf(1)
		}
	}
	for _, l := range all {
		branch := make([]float64, len(sum))
		for _, e := range l {
			c, err := f.cost(e.body)
			if err != nil {
				return nil, err
			}
			for i := range branch {
				branch[i] += float64(e.count) * c[i]
			}
		}
		for i := range sum {
			sum[i] = math.Max(sum[i], branch[i])
		}
	}
	return sum, nil
}

// RDPFilter admits events while at one order their summed Renyi divergences convert to
// the budget (Feldman, Zrnic 2021; Lecuyer 2021). The order is that of the given ones
// which admits most copies of the first event: it is fixed before there is an answer, as
// the theorem asks. Events of one kind are admitted as often as at the best order;
// others, which prefer another order, less often.
type RDPFilter struct{ additive }

// NewRDPFilter uses the given orders, or 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128
// without any. delta must be positive.
func NewRDPFilter(a Adjacency, u Unit, budget Budget, orders ...float64) (*RDPFilter, error) {
	if err := first(budget.validate(), bad(budget.Delta > 0, "target_delta", budget.Delta, "above 0"),
		checkPair(a, u)); err != nil {
		return nil, err
	}
	if len(orders) == 0 {
		orders = []float64{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}
	}
	f := &RDPFilter{}
	for _, o := range orders {
		if !(o > 1) || math.IsInf(o, 1) {
			return nil, config.Bad("orders", o, "finite numbers above 1")
		}
		// epsilonAt(o, limit, delta) = epsilon
		f.limit = append(f.limit, budget.Epsilon-math.Log1p(-1/o)+(math.Log(budget.Delta)+math.Log(o))/(o-1))
	}
	f.spent = make([]float64, len(orders))
	r := relation{a, u}
	f.t = tally{relation: r, name: "rdp", supports: func(b *body) error {
		_, err := rdpCurve(b, r)
		return err
	}}
	f.cost = func(b *body) ([]float64, error) {
		c, err := rdpCurve(b, r)
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(orders))
		for i, o := range orders {
			out[i] = c(o)
		}
		return out, nil
	}
	return f, nil
}

// Admit implements Filter.
func (f *RDPFilter) Admit(ev Event, times int) error { return f.admit(ev, times) }

// GDPFilter admits Gaussian events while sum (shift/noise)^2 stays below the mu^2 of the
// budget; nothing is lost against fixed composition (Smith, Thakurta 2022; Koskela,
// Tobaben, Honkela 2023).
type GDPFilter struct{ additive }

// NewGDPFilter needs 0 < delta < 1.
func NewGDPFilter(a Adjacency, u Unit, budget Budget) (*GDPFilter, error) {
	if err := first(budget.validate(), bad(budget.Delta > 0, "target_delta", budget.Delta, "above 0"),
		checkPair(a, u)); err != nil {
		return nil, err
	}
	mu := gdp.Mu(budget.Epsilon, budget.Delta)
	r := relation{a, u}
	g := &ExactGaussian{tally{relation: r}}
	f := &GDPFilter{additive{limit: []float64{mu * mu}, spent: []float64{0}}}
	f.t = tally{relation: r, name: "gdp", supports: g.check}
	f.cost = func(b *body) ([]float64, error) {
		m, _ := r.mu(b)
		return []float64{m * m}, nil
	}
	return f, nil
}

// Admit implements Filter.
func (f *GDPFilter) Admit(ev Event, times int) error { return f.admit(ev, times) }
