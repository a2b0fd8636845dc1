package experiment

import (
	"cmp"
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
	ev := model.Evaluate(o.e.model, theta, o.tests, new(model.Workspace))
	if !o.e.classifies() {
		return ev.Loss, "loss"
	}
	return float64(ev.Correct) / float64(max(1, ev.Samples)), "accuracy"
}

// TestRecords returns how many records Accuracy counts.
func (o *Owner) TestRecords() int { return o.tests.X.Rows }

// Alone trains a model on the owner's own records, without noise and with the first clip
// norm, and returns what Accuracy says about it. Nothing leaves: it is what taking part
// has to be compared with.
func (o *Owner) Alone() (value float64, err error) {
	f := o.e.file
	if f.averages() {
		value, _ = o.Accuracy(o.mean())
		return value, nil
	}
	if f.pacing.Clocked() {
		theta, err := o.aloneFit()
		if err != nil {
			return 0, err
		}
		value, _ = o.Accuracy(theta)
		return value, nil
	}
	steps, batch := o.aloneSteps()
	factory, oracles, err := o.aloneTask(batch)
	if err != nil {
		return 0, err
	}
	env := o.e.env(0)
	env.Self, env.Agents, env.Lowest = 0, 1, 1
	a, err := factory(env)
	if err != nil {
		return 0, err
	}
	m, err := privacy.NewMechanism("sealed", 0)
	if err != nil {
		return 0, err
	}
	gate := privacy.NewSimulatedGate(ledger.NewMemory(nil), m, oracles, f.root.Seed, 0)
	in, out, answer := agent.Input{}, agent.Output{}, make(tensor.Vec, o.e.model.Dim())
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

// aloneTask is what the owner's own model is trained by: plain gradient steps, or the
// operator of algorithm km, whose residuals are not bounded and of which all records are
// seen.
func (o *Owner) aloneTask(batch float64) (agent.Factory, map[string]privacy.Oracle, error) {
	f := o.e.file
	if o.e.splitting == nil {
		factory, err := algo.New("local", f.section("algorithm"))
		g := o.gradient()
		g.Exact, g.ExpectedBatch = false, batch
		return factory, map[string]privacy.Oracle{"grad": g}, cmp.Or(f.at("algorithm", err), g.Validate())
	}
	factory, err := algo.New(kmAlgorithm, func(params any) error {
		err := f.section("algorithm")(params)
		params.(*algo.KMParams).OwnState = false
		return err
	})
	k := o.e.km(&o.e.plans[0], oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]})
	k.Residual, k.Rate, k.ExpectedBatch = math.Inf(1), 1, float64(max(1, len(o.e.parts[0])))
	return factory, map[string]privacy.Oracle{oracle.KMName: k}, cmp.Or(f.at("algorithm", err), k.Validate())
}

// mean is that of the owner's records, as they are.
func (o *Owner) mean() tensor.Vec {
	v := oracle.Value{
		Records:    oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]},
		Clip:       math.Inf(1),
		Normaliser: 1,
		Unit:       account.Owner(),
		Dim:        o.e.model.Dim(),
	}
	mean := make(tensor.Vec, v.Dim)
	v.Evaluate(&privacy.Value{Float: mean}, nil, nil)
	return mean
}
