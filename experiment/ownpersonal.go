package experiment

import (
	"math"
	"time"

	"sotto/agent"
	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

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
	if e.file.pacing != agent.PacingPairs {
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
	case !f.clocked():
		return 0
	case f.clck.Interval == 0:
		return time.Second
	}
	return time.Duration(f.clck.Interval * float64(time.Second))
}

// steps is the number of rounds, of steps of every token, or of the owner's own wakes.
func (o *Owner) steps() uint64 {
	if !o.e.file.clocked() {
		return o.e.file.steps
	}
	return o.e.file.wakesEach()
}

// aloneFit is the minimiser of the owner's own loss: what an algorithm of personal models
// starts from.
func (o *Owner) aloneFit() (tensor.Vec, error) {
	e := o.e
	if _, linear := model.Linear(e.model); !linear {
		return nil, e.file.refuse("model.name", e.file.mod.Name,
			"huber, least-squares, or logistic with two classes, to train alone")
	}
	a, err := e.factory(e.env(0))
	if err != nil {
		return nil, e.file.at("algorithm", err)
	}
	public := o.plan().Public
	public.FeatureNorm = math.Inf(1)
	q := &agent.Query{Oracle: oracle.FitName, At: make(tensor.Vec, e.model.Dim())}
	q.Operator.Lambda = a.(interface{ FitLambda() float64 }).FitLambda()
	gate, err := o.sealedGate(&public, q)
	if err != nil {
		return nil, err
	}
	theta := make(tensor.Vec, e.model.Dim())
	return theta, gate.Answer(q, theta)
}
