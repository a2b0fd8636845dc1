package run

import (
	"cmp"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/internal/jsonfloat"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// scorer is what releases one agent's score: a gate of its own on the agent's ledger,
// with noise of its own.
func scorer(e *experiment.Experiment, i int, l ledger.Ledger, pool *oracle.Pool, seed uint64) (*privacy.Gate,
	error) {
	p := &e.File.Evaluate
	if p.Score == metric.Accuracy && !e.Task.Classifies() {
		return nil, e.File.At("evaluate", config.Bad("score", p.Score, "loss: this model does not classify"))
	}
	o := &oracle.Score{
		Model:     e.Task.Model,
		Records:   oracle.Records{Data: e.Task.Split.Train, Index: e.Task.HeldOut[i]},
		Loss:      p.Score == metric.Loss,
		ClipNorm:  p.ScoreClip,
		Adjacency: e.Setup.Target.Adjacency,
		Pool:      pool,
	}
	if err := o.Validate(); err != nil {
		return nil, e.File.At("evaluate", err)
	}
	m, err := privacy.NewGaussian(p.ScoreNoise)
	if err != nil {
		return nil, e.File.At("evaluate", err)
	}
	r, err := o.Describe(&agent.Query{At: make(tensor.Vec, e.Task.Model.Dim())})
	if err != nil {
		return nil, err
	}
	ev, err := m.Event(r)
	if err == nil {
		err = e.Setup.Target.Takes(ev)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", e.File.Refuse("evaluate.score", p.Score,
			"nothing with accountant "+e.Setup.Target.Accountant), err)
	}
	return privacy.NewSimulatedGate(l, m, map[string]privacy.Oracle{"score": o}, seed, agent.ID(i)), nil
}

// NewLedger is a ledger in memory that admits what the filter does, and with score one
// score; nil admits everything.
func NewLedger(filter *account.CountFilter, score bool) *ledger.Memory {
	var f account.Filter
	if filter != nil {
		f = filter
	}
	if score {
		f = &scoreFilter{Filter: f}
	}
	return ledger.NewMemory(f)
}

// scoreFilter admits one score beside what the budget admits: target_epsilon is a budget
// of training, the score comes on top.
type scoreFilter struct {
	account.Filter // nil: no budget
	scored         bool
}

// Admit implements account.Filter.
func (f *scoreFilter) Admit(ev account.Event, times int) error {
	if ev.Oracle != "score" {
		if f.Filter == nil {
			return nil
		}
		return f.Filter.Admit(ev, times)
	}
	if f.scored || times != 1 {
		return fmt.Errorf("%w: one score a run", account.ErrExhausted)
	}
	f.scored = true
	return nil
}

// score has every agent release the score of its own model on its own held-out records,
// and returns their sum over the public number of held-out records: an accuracy, or a
// mean loss; nil where none is asked for. The order of agents is fixed.
func (r *Training) score() (*jsonfloat.Float, error) {
	if len(r.world.scorers) == 0 {
		return nil, nil
	}
	sum, answer := 0., tensor.Vec{0}
	for i, g := range r.world.scorers {
		if err := g.Answer(&agent.Query{Oracle: "score", At: r.world.Sim.Model(i)}, answer); err != nil {
			return nil, fmt.Errorf("score of agent %d: %w", i, err)
		}
		sum += float64(answer[0])
	}
	v := jsonfloat.Float(sum / heldRecords(r.e))
	return &v, nil
}

// heldRecords is the number of held-out records; where record counts are private, what
// public constants say of it. batch_size over sample_rate stands for the records that
// train; sums have neither, and min_records stands for all.
func heldRecords(e *experiment.Experiment) float64 {
	p, share, agents := &e.File.Privacy, e.File.Evaluate.Validation, float64(len(e.Task.HeldOut))
	switch {
	case e.Setup.Target.Adjacency != account.AddRemove:
		return float64(e.Task.Validation.Len())
	case p.BatchSize == 0:
		return float64(p.MinRecords) * share * agents
	}
	return p.BatchSize / cmp.Or(p.SampleRate, 1) * share / (1 - share) * agents // rate 1: all records
}
