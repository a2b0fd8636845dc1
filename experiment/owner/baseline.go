package owner

import (
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Accuracy returns the share of the owner's test records that a model gets right, or for
// regression its loss. It is a statistic of private records: it is shown to the owner and
// sent to nobody.
func (o *Owner) Accuracy(theta tensor.Vec) (value float64, metric string) {
	ev := model.Evaluate(o.e.Task.Model, theta, o.tests, new(model.Workspace))
	if !o.e.Task.Classifies() {
		return ev.Loss, "loss"
	}
	return float64(ev.Correct) / float64(max(1, ev.Samples)), "accuracy"
}

// TestRecords returns how many records Accuracy counts.
func (o *Owner) TestRecords() int { return o.tests.X.Rows }

// LocalBaseline trains a model on the owner's own records, without noise and with the
// first clip norm, and returns what Accuracy says about it. Nothing leaves: it is what
// taking part has to be compared with.
func (o *Owner) LocalBaseline() (value float64, err error) {
	f := o.e.File
	switch {
	case f.Has(algo.OneRelease):
		value, _ = o.Accuracy(o.mean())
		return value, nil
	case f.Clocked():
		theta, err := o.baselineFit()
		if err != nil {
			return 0, err
		}
		value, _ = o.Accuracy(theta)
		return value, nil
	}
	steps, batch := o.baselineSteps()
	factory, gate, err := o.baselineTask(batch)
	if err != nil {
		return 0, err
	}
	env := o.e.Env(0)
	env.Self, env.Agents, env.Graph.LambdaMin = 0, 1, 1
	a, err := factory(env)
	if err != nil {
		return 0, err
	}
	in, out, answer := agent.Input{}, agent.Output{}, make(tensor.Vec, o.e.Task.Model.Dim())
	view := &agent.View{SelfWeight: 1}
	for k := range steps {
		in = agent.Input{Kind: agent.Round, Round: k, View: view}
		for {
			out.Reset()
			if err := a.Step(&in, &out); err != nil {
				return 0, err
			}
			if out.Query == nil {
				break
			}
			if err := gate.Answer(out.Query, answer); err != nil {
				return 0, err
			}
			in.Kind, in.Answer = agent.Answer, answer
		}
	}
	value, _ = o.Accuracy(a.Params())
	return value, nil
}

// baselineTask is what the owner's own model is trained by: plain gradient steps, or the
// residuals of a fixed-point iteration, which are then not bounded and of which all
// records are seen.
func (o *Owner) baselineTask(batch float64) (agent.Factory, *privacy.Gate, error) {
	f, public := o.e.File, o.plan().Public
	public.Exact, public.Rescale, public.Count = false, false, false
	public.ExpectedBatchSize, public.ClipNorm, public.Unit = batch, f.Privacy.MaxGradNorm, account.Record()
	q := &agent.Query{Oracle: "grad"}
	name, own := "local", func(any) {}
	if f.Has(algo.FixedGraph) { // whose iteration, without the others, is the owner's own
		name = f.Algorithm.Name
		own = func(params any) {
			if p, ok := params.(interface{ Stateless() }); ok {
				p.Stateless()
			}
		}
		public.Residual, public.SampleRate = math.Inf(1), 1
		public.ExpectedBatchSize = float64(max(1, len(o.e.Task.Parts[0])))
		*q = o.plan().Asks[0].Query
		q.Oracle, q.Operator.Bound = oracle.KMName, math.Inf(1)
	}
	factory, err := algo.New(name, func(params any) error {
		err := f.Section("algorithm")(params)
		own(params)
		return err
	})
	if err != nil {
		return nil, nil, f.At("algorithm", err)
	}
	gate, err := o.sealedGate(&public, q)
	return factory, gate, err
}

// sealedGate answers q about the owner's records without noise: nothing of it leaves.
func (o *Owner) sealedGate(public *oracle.Public, q *agent.Query) (*privacy.Gate, error) {
	bound, err := oracle.New(public, q)
	if err == nil {
		err = bound.Bind(o.ownRecords(), oracle.NewSplitPool(1))
	}
	if err != nil {
		return nil, err
	}
	m, err := privacy.NewMechanism("sealed", 0)
	if err != nil {
		return nil, err
	}
	return privacy.Open(ledger.NewMemory(nil), m, map[string]privacy.Oracle{q.Oracle: bound},
		privacy.SimulatedKeys(o.e.File.Run.Seed), 0), nil
}

// mean is that of the owner's records, as they are.
func (o *Owner) mean() tensor.Vec {
	v := oracle.Value{
		Records:    oracle.Records{Data: o.e.Task.Split.Train, Index: o.e.Task.Parts[0]},
		ClipNorm:   math.Inf(1),
		Normaliser: 1,
		Unit:       account.Owner(),
		Dim:        o.e.Task.Model.Dim(),
	}
	mean := make(tensor.Vec, v.Dim)
	v.Evaluate(&privacy.Value{Float: mean}, nil, nil)
	return mean
}
