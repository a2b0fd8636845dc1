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
	n := uint64(max(1, f.Topology.Agents))
	return (f.Steps + n - 1) / n
}

// ownWakes is how often the owner's agent steps: at its own wakes and, in pairs, those of
// its neighbors at which they draw it, as many as are to be expected. What comes beyond
// is refused by the run's filter: the agent goes on without answers.
func (e *Experiment) ownWakes() (uint64, error) {
	each := e.File.wakesEach()
	if e.File.Pacing != agent.PacingPairs {
		return each, nil
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return 0, err
	}
	called := 0.
	for _, nb := range g.In(e.Seats.Self) {
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
	case f.Clock.Interval == 0:
		return time.Second
	}
	return time.Duration(f.Clock.Interval * float64(time.Second))
}

// steps is the number of rounds, of steps of every token, or of the owner's own wakes.
func (o *Owner) steps() uint64 {
	if !o.e.File.clocked() {
		return o.e.File.Steps
	}
	return o.e.File.wakesEach()
}

// aloneFit is the minimiser of the owner's own loss: what an algorithm of personal models
// starts from.
func (o *Owner) aloneFit() (tensor.Vec, error) {
	e := o.e
	if _, linear := model.Linear(e.Task.Model); !linear {
		return nil, e.File.refuse("model.name", e.File.Model.Name,
			"huber, least-squares, or logistic with two classes, to train alone")
	}
	a, err := e.Factory(e.env(0))
	if err != nil {
		return nil, e.File.at("algorithm", err)
	}
	public := o.plan().Public
	public.FeatureNorm = math.Inf(1)
	q := &agent.Query{Oracle: oracle.FitName, At: make(tensor.Vec, e.Task.Model.Dim())}
	q.Operator.Lambda = a.(interface{ FitLambda() float64 }).FitLambda()
	gate, err := o.sealedGate(&public, q)
	if err != nil {
		return nil, err
	}
	theta := make(tensor.Vec, e.Task.Model.Dim())
	return theta, gate.Answer(q, theta)
}
