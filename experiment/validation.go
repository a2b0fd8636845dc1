package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"sotto/config"
	"sotto/data"
	"sotto/experiment/metric"
	"sotto/rng"
	"sotto/sim"
)

// holdOut takes the share [evaluate] validation of every agent's records out of training.
// Each record has a coin of its own, which depends on the seed and its place in the data
// set, or, under add-remove, where one record more moves those behind it, its contents:
// no record moves another, so that the parts stay disjoint on neighbouring data sets too.
// Persons with several records have one coin each, of their own. Test records are never
// among them.
func (e builder) holdOut() error {
	share := e.File.Evaluate.Validation
	if share == 0 {
		return nil
	}
	train := e.Task.Split.Train
	held := make([]bool, train.Len())
	coins := rng.Public(e.File.Run.Seed, "held-out records")
	limit, _ := rng.Threshold(share)
	for i := range held {
		switch {
		case train.Units == nil && e.File.Privacy.adjacency.HidesCount():
			held[i] = train.RecordCoin(e.File.Run.Seed, "held-out records", i) < share
		case train.Units != nil:
			held[i] = train.UnitCoin(e.File.Run.Seed, "held-out persons", i) < share
		default:
			held[i] = coins.Hit(limit)
		}
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
				fmt.Sprintf("a share that leaves records for training: agent %s has %d records",
					agentNamed(e.Experiment, i), len(part)))
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

// ownTests are the records that each agent is tested on, as rows of a data set: the test
// records of its group, or, of a partition that does not deal out groups, what
// [evaluate] validation holds out of its own.
func (e builder) ownTests(test *data.Dataset) (of *data.Dataset, rows [][]int32, err error) {
	if e.Task.HeldOut != nil && !data.ByGroups(e.File.Data.Partition) {
		return e.Task.Split.Train, e.Task.HeldOut, nil
	}
	if test.Groups == nil {
		return nil, nil, e.File.At("evaluate", config.Bad("on", "own", "all, or own with validation, a "+
			"share "+
			"of every agent's records: this data set does not say whose its test records are"))
	}
	rows = make([][]int32, e.File.Topology.Agents)
	for r, g := range test.Groups {
		i := int(g) % len(rows)
		rows[i] = append(rows[i], int32(r))
	}
	return test, rows, nil
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
	case p.Score != metric.Accuracy && p.Score != metric.Loss:
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
	if p.ScoreClip == 0 && p.Score == metric.Accuracy {
		p.ScoreClip = 1
	}
	if !(p.ScoreNoise > 0) || math.IsInf(p.ScoreNoise, 1) {
		return config.Bad("score_noise_multiplier", p.ScoreNoise, "above 0 and finite")
	}
	if !(p.ScoreClip > 0) || math.IsInf(p.ScoreClip, 1) || p.Score == metric.Accuracy && p.ScoreClip != 1 {
		return config.Bad("score_clip", p.ScoreClip,
			"1 with score accuracy; with score loss above 0 and finite, the largest loss that one record "+
				"counts")
	}
	return nil
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

func validationRemark(e *Experiment, _ sim.Stats) string {
	if e.File.Evaluate.On == "validation" {
		return "accuracy and loss are of records held out from training, not of the test set"
	}
	return ""
}

func scoreRemark(e *Experiment, _ sim.Stats) string {
	p := &e.File.Privacy
	if e.File.Evaluate.Score != "" && p.adjacency.HidesCount() && p.BatchSize == 0 {
		return "the score is a sum over held-out records, divided by their share of min_records: with " +
			"more records it is larger than their mean"
	}
	return ""
}

// heldOut is the number of agent i's records, or persons, that are.
func (p *PrivacyParams) heldOut(t *Task, i int) int {
	if t.HeldOut == nil {
		return 0
	}
	return p.units(t, t.HeldOut[i])
}
