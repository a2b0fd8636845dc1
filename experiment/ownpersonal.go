package experiment

import (
	"math"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Cost is what a run asks of an owner's data: Times answers that each cost Event.
type Cost struct {
	Event account.Event
	Times int
}

// wakesEach is how often each agent wakes where daemons run: its share of the run's
// wakes, since every node counts its own.
func (f *File) wakesEach() uint64 {
	n := uint64(max(1, f.topo.Agents))
	return (f.steps + n - 1) / n
}

// ownWakes is how often the owner's agent steps: at its own wakes and, in pairs, those of
// its neighbors at which they draw it, as many as are to be expected. What comes beyond
// is refused by the run's filter: the agent goes on without answers.
func (e *Experiment) ownWakes() (uint64, error) {
	each := e.file.wakesEach()
	if e.file.pacing != algo.Pairs {
		return each, nil
	}
	g, err := e.schedule.At(0)
	if err != nil {
		return 0, err
	}
	called := 0.
	for _, nb := range g.In(e.self) {
		called += float64(each) / float64(len(g.In(nb.ID)))
	}
	return each + uint64(math.Ceil(called)), nil
}

// interval is the mean time between two wakes of a daemon's agent; 0 for algorithms of
// rounds.
func (f *File) interval() time.Duration {
	switch {
	case !f.pacing.Clocked():
		return 0
	case f.clck.Interval == 0:
		return time.Second
	}
	return time.Duration(f.clck.Interval * float64(time.Second))
}

// steps is the number of rounds, of steps of every token, or of the owner's own wakes.
func (o *Owner) steps() uint64 {
	if !o.e.file.pacing.Clocked() {
		return o.e.file.steps
	}
	return o.e.file.wakesEach()
}

// costs lists what the whole run may charge.
func (o *Owner) costs() ([]Cost, error) {
	p := &o.e.plans[0]
	if p.personal == nil {
		return []Cost{{p.event, p.queries}}, nil
	}
	var costs []Cost
	for _, a := range p.personal.asks {
		r, err := o.e.personalRelease(p, a.oracle)
		if err != nil {
			return nil, err
		}
		ev, err := o.e.personalEvent(p, a, r, p.noiseMultiplier)
		if err != nil {
			return nil, err
		}
		costs = append(costs, Cost{account.Shared(ev), a.times})
	}
	return costs, nil
}

// filter admits what one run may charge, no more. Without target_epsilon an algorithm of
// rounds is limited by the owner's lifetime budget alone: nil.
func (o *Owner) filter() (*account.CountFilter, error) {
	p := &o.e.plans[0]
	if p.personal == nil {
		if !p.limited {
			return nil, nil
		}
		return account.NewCountFilter(p.event, p.limit)
	}
	costs, err := o.costs()
	if err != nil {
		return nil, err
	}
	f := &account.CountFilter{}
	for _, c := range costs {
		if err := f.Allow(c.Event, c.Times); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// aloneFit is the minimiser of the owner's own loss: what an algorithm of personal models
// starts from.
func (o *Owner) aloneFit() (tensor.Vec, error) {
	e, p := o.e, &o.e.plans[0]
	if _, linear := model.Linear(e.model); !linear {
		return nil, e.file.at("model", config.Bad("name", e.file.mod.Name,
			"huber, least-squares, or logistic with two classes, to train alone"))
	}
	fit := e.fit(p, p.personal.lambda)
	fit.Records, fit.Radius = oracle.Records{Data: e.split.Train, Index: e.parts[0]}, math.Inf(1)
	if err := fit.Validate(); err != nil {
		return nil, err
	}
	m, err := privacy.NewMechanism("sealed", 0)
	if err != nil {
		return nil, err
	}
	gate := privacy.NewSimulatedGate(ledger.NewMemory(nil), m, map[string]privacy.Oracle{oracle.FitName: fit},
		e.file.root.Seed, 0)
	theta := make(tensor.Vec, e.model.Dim())
	return theta, gate.Answer(&agent.Query{Oracle: oracle.FitName, At: make(tensor.Vec, e.model.Dim())},
		theta)
}
