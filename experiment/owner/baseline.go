package owner

import (
	"context"
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

// TrainRecords returns how many records the owner trains on: its own to know where
// Terms.Records is 0.
func TrainRecords(o *Owner) int { return len(o.e.Task.Parts[0]) }

// training is how an owner's model is made alone; ctx ends it.
type training func(ctx context.Context, o alone) (tensor.Vec, error)

// baselines are those of runs, by the first oracle that their algorithm asks; gradient
// steps for all others.
var baselines = map[string]training{
	"value":         func(_ context.Context, o alone) (tensor.Vec, error) { return o.mean() },
	oracle.KMName:   steps(alone.iteration),
	oracle.FullName: func(_ context.Context, o alone) (tensor.Vec, error) { return o.fit() },
	// the run's own steps, with no clip
	oracle.MomentsName: steps(alone.table),
	oracle.RowSumName:  steps(alone.table),
}

// steps trains step by step.
func steps(by func(o alone, b *baseline)) training {
	return func(ctx context.Context, o alone) (tensor.Vec, error) {
		return o.train(ctx, func(b *baseline) { by(o, b) })
	}
}

// LocalBaseline trains a model on the owner's own records, without noise and with the
// first clip norm, and returns what Accuracy says about it. Nothing leaves: it is what
// taking part has to be compared with.
func (o *Owner) LocalBaseline(ctx context.Context) (value float64, err error) {
	theta, err := alone{o}.model(ctx)
	if err != nil {
		return 0, err
	}
	value, _ = o.Accuracy(theta)
	return value, nil
}

// model is what LocalBaseline trains.
func (o alone) model(ctx context.Context) (tensor.Vec, error) {
	train, ok := baselines[o.e.File.Spec.Asks[0]]
	if !ok {
		train = steps(alone.gradients)
	}
	return train(ctx, o)
}

// alone is an owner whose model nobody else has a part in.
type alone struct{ *Owner }

// baseline is what an owner's own model is trained by.
type baseline struct {
	algorithm string
	params    func(params any) // changes them
	public    oracle.Public
	queries   []*agent.Query
}

// train makes the owner's model step by step.
func (o alone) train(ctx context.Context, by func(b *baseline)) (tensor.Vec, error) {
	steps, batch := o.steps()
	factory, gate, err := o.task(batch, by)
	if err != nil {
		return nil, err
	}
	env := o.e.Env(0)
	env.Self, env.Agents, env.Graph, env.Table.Noise = 0, 1, agent.Graph{LambdaMin: 1}, 0
	env.Noise = 0
	a, err := factory(env)
	if err != nil {
		return nil, err
	}
	in, out := agent.Input{}, agent.Output{}
	view := &agent.View{SelfWeight: 1}
	for k := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in = agent.Input{Kind: agent.Round, Round: k, View: view}
		for {
			out.Reset()
			if err := a.Step(&in, &out); err != nil {
				return nil, err
			}
			if out.Query == nil {
				break
			}
			answer := out.Query.Room(nil, o.e.Task.Model.Dim())
			if err := gate.Answer(out.Query, answer); err != nil {
				return nil, err
			}
			in.Kind, in.Answer = agent.Answer, answer
		}
	}
	return a.Params(), nil
}

// gradients is plain gradient steps.
func (o alone) gradients(b *baseline) {
	b.algorithm, b.queries = "local", []*agent.Query{{Oracle: "grad"}}
}

// iteration is the residuals of a fixed-point iteration, which are then not bounded and
// of which all records are seen: without the others it is the owner's own.
func (o alone) iteration(b *baseline) {
	b.algorithm = o.e.File.Algorithm.Name
	b.params = func(params any) {
		if p, ok := params.(interface{ Stateless() }); ok {
			p.Stateless()
		}
	}
	b.public.Residual, b.public.SampleRate = math.Inf(1), 1
	b.public.ExpectedBatchSize = float64(max(1, len(o.e.Task.Parts[0])))
	q := o.plan().Asks[0].Query
	q.Oracle, q.Operator.Bound = oracle.KMName, math.Inf(1)
	b.queries = []*agent.Query{&q}
}

// table is the steps of a model that is linear in its parameters.
func (o alone) table(b *baseline) {
	b.algorithm, b.public.ClipNorm = o.e.File.Algorithm.Name, math.Inf(1)
	for k := range o.plan().Asks {
		b.queries = append(b.queries, &o.plan().Asks[k].Query)
	}
}

// task makes the algorithm and the gate, without noise.
func (o alone) task(batch float64, by func(b *baseline)) (agent.Factory, *privacy.Gate, error) {
	f, b := o.e.File, baseline{public: o.plan().Public, params: func(any) {}}
	b.public.Sums.Uncharged, b.public.Rescale, b.public.Count = true, false, false
	b.public.ExpectedBatchSize, b.public.ClipNorm = batch, f.Privacy.MaxGradNorm
	if b.public.Unit == account.Owner() {
		b.public.Unit = account.Record()
	}
	by(&b)
	factory, err := algo.New(b.algorithm, func(params any) error {
		err := f.Section("algorithm")(params)
		b.params(params)
		return err
	})
	if err != nil {
		return nil, nil, f.At("algorithm", err)
	}
	gate, err := o.sealedGate(&b.public, b.queries...)
	return factory, gate, err
}

// sealedGate answers queries about the owner's records without noise: nothing of it
// leaves.
func (o alone) sealedGate(public *oracle.Public, queries ...*agent.Query) (*privacy.Gate, error) {
	oracles := map[string]privacy.Oracle{}
	for _, q := range queries {
		bound, err := oracle.New(public, q)
		if err == nil {
			err = bound.Bind(o.ownRecords(), oracle.NewSplitPool(1))
		}
		if err != nil {
			return nil, err
		}
		oracles[q.Oracle] = bound
	}
	m, err := privacy.NewMechanism("sealed", 0)
	if err != nil {
		return nil, err
	}
	return privacy.Open(ledger.NewMemory(nil), m, oracles, privacy.SimulatedKeys(o.e.File.Run.Seed), 0), nil
}

// mean is that of the owner's records, as they are.
func (o alone) mean() (tensor.Vec, error) {
	v := oracle.Value{
		Records:    oracle.Records{Data: o.e.Task.Split.Train, Index: o.e.Task.Parts[0]},
		ClipNorm:   math.Inf(1),
		Normaliser: 1,
		Unit:       account.Owner(),
		Dim:        o.e.Task.Model.Dim(),
	}
	mean := make(tensor.Vec, v.Dim)
	v.Evaluate(&privacy.Value{Float: mean}, nil, nil)
	return mean, nil
}
