package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// Names of what a score counts.
const (
	scoreAccuracy = "accuracy"
	scoreLoss     = "loss"
)

// holdOut takes the share [evaluate] validation of every agent's records out of training.
// Each record has a coin of its own, which depends on the seed and its place in the data
// set only: whether one record takes part never moves another, so that the parts stay
// disjoint on neighbouring data sets too. Test records are never among them.
func (e *Experiment) holdOut() error {
	share := e.File.Evaluate.Validation
	if share == 0 {
		return nil
	}
	train := e.Task.Split.Train
	held := make([]bool, train.Len())
	coins := rng.Public(e.File.Run.Seed, "held-out records")
	limit, _ := rng.Threshold(share)
	for i := range held {
		held[i] = coins.Hit(limit)
	}
	e.Task.HeldOut = make([][]int32, len(e.Task.Parts))
	var all []int32
	for i, part := range e.Task.Parts {
		var rest []int32
		for _, r := range part {
			if held[r] {
				e.Task.HeldOut[i] = append(e.Task.HeldOut[i], r)
			} else {
				rest = append(rest, r)
			}
		}
		if len(part) > 0 && len(rest) == 0 && !e.File.Data.AllowEmpty {
			return config.Bad("validation", share,
				fmt.Sprintf("a share that leaves records for training: agent %d has %d records", i,
					len(part)))
		}
		e.Task.Parts[i] = rest
		all = append(all, e.Task.HeldOut[i]...)
	}
	if len(all) == 0 {
		return config.Bad("validation", share,
			fmt.Sprintf("a share that holds out at least one of %d records", train.Len()))
	}
	e.Task.Validation = train.Select(all)
	sum := sha256.Sum256(fmt.Appendf(nil, "held out %s %v %d", train.Digest, share, e.File.Run.Seed))
	e.Task.Validation.Digest = hex.EncodeToString(sum[:])
	return nil
}

// validateHeldOut checks the keys of [evaluate] that concern records held out from
// training.
func (p *EvaluateParams) validateHeldOut(private bool) error {
	switch {
	case p.Validation != 0 && !(p.Validation > 0 && p.Validation < 1):
		return config.Bad("validation", p.Validation,
			"above 0 and below 1: the share of every agent's records that is held out from training")
	case p.On == "validation" && p.Validation == 0:
		return config.Bad("on", p.On, "all or own without validation, a share above 0 of the records")
	case p.Score == "" && (p.ScoreNoise != 0 || p.ScoreClip != 0):
		return config.Bad("score", "nothing", "accuracy or loss with score_noise_multiplier or score_clip")
	case p.Score == "":
		return nil
	case p.Score != scoreAccuracy && p.Score != scoreLoss:
		return config.Bad("score", p.Score, "one of accuracy, loss")
	case p.Validation == 0:
		return config.Bad("score", p.Score,
			"nothing without validation: a score is of records held out from training")
	case !private:
		return config.Bad("score", p.Score,
			"nothing with mechanism none: a score is a noisy release beside private training")
	}
	if p.ScoreNoise == 0 {
		p.ScoreNoise = 10
	}
	if p.ScoreClip == 0 && p.Score == scoreAccuracy {
		p.ScoreClip = 1
	}
	if !(p.ScoreNoise > 0) || math.IsInf(p.ScoreNoise, 1) {
		return config.Bad("score_noise_multiplier", p.ScoreNoise, "above 0 and finite")
	}
	if !(p.ScoreClip > 0) || math.IsInf(p.ScoreClip, 1) || p.Score == scoreAccuracy && p.ScoreClip != 1 {
		return config.Bad("score_clip", p.ScoreClip,
			"1 with score accuracy; with score loss above 0 and finite, the largest loss that one record "+
				"counts")
	}
	return nil
}

// scorer is what releases one agent's score: a gate of its own on the agent's ledger,
// with noise of its own.
func (e *Experiment) scorer(i int, l ledger.Ledger, pool *oracle.Pool, seed uint64) (*privacy.Gate, error) {
	p := &e.File.Evaluate
	if p.Score == scoreAccuracy && !e.Classifies() {
		return nil, e.File.At("evaluate", config.Bad("score", p.Score, "loss: this model does not classify"))
	}
	o := &oracle.Score{
		Model:     e.Task.Model,
		Records:   oracle.Records{Data: e.Task.Split.Train, Index: e.Task.HeldOut[i]},
		Loss:      p.Score == scoreLoss,
		Clip:      p.ScoreClip,
		Adjacency: e.File.Privacy.adjacency,
		Pool:      pool,
	}
	if err := o.Validate(); err != nil {
		return nil, e.File.At("evaluate", err)
	}
	m, err := privacy.NewGaussian(p.ScoreNoise)
	if err != nil {
		return nil, e.File.At("evaluate", err)
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
// mean loss. The order of agents is fixed.
func (r *running) score() (float64, error) {
	sum, answer := 0., tensor.Vec{0}
	for i, g := range r.world.scorers {
		if err := g.Answer(&agent.Query{Oracle: "score", At: r.world.Sim.Model(i)}, answer); err != nil {
			return 0, fmt.Errorf("score of agent %d: %w", i, err)
		}
		sum += float64(answer[0])
	}
	return sum / r.e.heldRecords(), nil
}

// heldRecords is the number of held-out records, from public constants where record
// counts are private.
func (e *Experiment) heldRecords() float64 {
	p := &e.File.Privacy
	if p.adjacency == account.AddRemove {
		share := e.File.Evaluate.Validation
		return p.BatchSize / p.SampleRate * share / (1 - share) * float64(len(e.Task.HeldOut))
	}
	return float64(e.Task.Validation.Len())
}

// NoiseSeed seeds batches and noise. A trial of a search has its own, beside the data and
// the initial model that all of them share.
func (e *Experiment) NoiseSeed() uint64 {
	if t := e.File.Run.Trial; t > 0 {
		return TrialSeed(e.File.Run.Seed, t)
	}
	return e.File.Run.Seed
}

// TrialSeed is that of a trial, from 1.
func TrialSeed(seed, trial uint64) uint64 { return rng.Public(seed, "trial", trial).Uint64() }
