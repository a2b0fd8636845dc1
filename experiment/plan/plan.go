// Package plan says what each agent of a run is going to ask of its data, and what that
// costs, before anything is asked. A plan is public: it follows from the run file, public
// record counts and the algorithm, which is stepped once without data. This package may
// not import data, and a test refuses it if it does.
//
// Rehearse finds the queries, Calibrate the noise, and Agent holds both. The oracles and
// mechanisms that a plan is priced by are those that answer (oracle.Public,
// privacy.Scheme): the planned release is the executed one by construction.
package plan

import (
	"math"

	"sotto/agent"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// Ask is one kind of query that an agent is going to make.
type Ask struct {
	Query agent.Query // but for its point; of the first one, where Step varies
	Times int
	Steps []float64 // of all of them in order, where Step is not the same; else nil
}

// Asked is what one agent is going to ask.
type Asked struct {
	Asks []Ask // in the order of their first time; agents that ask alike share them
	// When says which rounds or wakes ask; nil: models walk, or agents meet in pairs.
	When *agent.Schedule
}

// Agent is what one agent is going to ask, and at which noise.
type Agent struct {
	Public oracle.Public
	Asked
	// Before is charged before the run: what was made from the records without a charge.
	Before []account.Event
	// Epsilon is the agent's budget for what it asks; 0: none, but the ledger's own.
	Epsilon float64

	// Noise is the noise multiplier as it counts: with shared noise more than the own
	// part of it. 0 before Calibrate, and without noise.
	Noise float64
	// Events are what one answer of each Ask costs at Noise; nil without noise.
	Events []account.Event
	// Own are the mechanisms of oracles that do not share the run's; nil without.
	Own map[string]privacy.Mechanism
	// Admitted is the number of answers that Epsilon pays for at a given noise, where the
	// agent asks for one kind of them; it may be more than it asks.
	Admitted int
	// Limited says that the run's ledger admits no more than Epsilon pays for.
	Limited bool
	// Claim is the epsilon that a publication would claim for the run; 0: none.
	Claim float64
}

// Queries is the number of queries that the agent makes.
func (a *Agent) Queries() int {
	n := 0
	for _, k := range a.Asks {
		n += k.Times
	}
	return n
}

// Charges is how many of the queries are answered.
func (a *Agent) Charges() int {
	if a.Limited && len(a.Asks) == 1 {
		return min(a.Asks[0].Times, a.Admitted)
	}
	return a.Queries()
}

// Names reports whether the agent asks the named oracle.
func (a *Agent) Names(oracle string) bool {
	for _, k := range a.Asks {
		if k.Query.Oracle == oracle {
			return true
		}
	}
	return false
}

// Release is what an answer to the agent's Ask k releases.
func (a *Agent) Release(k int) (account.Release, error) {
	q := a.Asks[k].Query
	return oracle.Describe(&a.Public, &q)
}

// Extra is the number of values that the agent's longest answer has behind those of the
// model: a noisy count, or moments of records.
func (a *Agent) Extra() int {
	most := 0
	for k := range a.Asks {
		n := -a.Public.Model.Dim()
		if r, err := a.Release(k); err == nil {
			for _, p := range r.Parts {
				n += p.Dim
			}
		}
		most = max(most, n)
	}
	return most
}

// Movement is the largest sensitivity of the agent's answers over their clips, with what
// rounding adds.
func (a *Agent) Movement() (float64, error) {
	most := 0.
	for k := range a.Asks {
		r, err := a.Release(k)
		if err != nil {
			return 0, err
		}
		for _, p := range r.Parts {
			most = max(most, p.Movement())
		}
	}
	return most, nil
}

// Filter admits what the plan's budget pays for, beside what is charged Before; nil
// without a budget, and where nothing is priced.
func (a *Agent) Filter() (*account.CountFilter, error) {
	if !a.Limited || a.Events == nil {
		return nil, nil
	}
	return a.Quota(0)
}

// Quota admits what is planned, and of every kind of answer reserve more, which
// Target.Reserve has priced.
func (a *Agent) Quota(reserve int) (*account.CountFilter, error) {
	f := &account.CountFilter{}
	for _, ev := range a.Before {
		if err := f.Allow(ev, 1); err != nil {
			return nil, err
		}
	}
	for k, ev := range a.Events {
		times := a.Asks[k].Times
		if a.Limited && len(a.Asks) == 1 {
			times = a.Admitted
		}
		if err := f.Allow(ev, times+reserve); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Cost is what a number of answers costs.
type Cost struct {
	Event account.Event
	Times int
}

// Costs lists what the whole run may charge.
func (a *Agent) Costs() []Cost {
	costs := make([]Cost, len(a.Events))
	for k, ev := range a.Events {
		costs[k] = Cost{ev, a.Asks[k].Times}
	}
	return costs
}

// Cost is what costs come to by the target's accountant, at its delta.
func (t *Target) Cost(costs ...Cost) (account.Interval, error) {
	charges := 0
	for _, c := range costs {
		charges += c.Times
	}
	if charges == 0 {
		return account.Interval{}, nil
	}
	acc, err := account.New(t.Accountant, t.Adjacency, t.Unit)
	if err != nil {
		return account.Interval{}, err
	}
	for _, c := range costs {
		if err := acc.Compose(c.Event, c.Times); err != nil {
			return account.Interval{}, err
		}
	}
	return acc.Epsilon(t.Delta)
}

// Takes refuses an event that the accountant has no bound for, before a run at a given
// noise has charged any.
func (t *Target) Takes(ev account.Event) error {
	acc, err := account.New(t.Accountant, t.Adjacency, t.Unit)
	if err != nil {
		return err
	}
	return acc.Compose(ev, 1)
}

// Cost is the epsilon of so many charges of the agent's one kind of query.
func (a *Agent) Cost(t *Target, charges int) (account.Interval, error) {
	return t.Cost(Cost{a.Events[0], charges})
}

// NoiseToSignal is the expected length of an answer's noise over the longest mean of
// clipped gradients, z sqrt(d)/L, where a value's noise has the standard deviation z.
func (a *Agent) NoiseToSignal() float64 {
	return a.Noise * math.Sqrt(float64(a.Public.Model.Dim())) / a.Public.ExpectedBatchSize
}
