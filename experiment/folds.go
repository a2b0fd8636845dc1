package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sotto/config"
	"sotto/data"
	"sotto/rng"
	"sotto/sim"
)

// FoldParams are the keys of [evaluate] for cross-validation of a simulation. Training
// and test records of the data set are dealt anew to Folds folds; those of one fold are
// the test records of a run, all others its training records.
type FoldParams struct {
	// number of folds of a cross-validation, 2 to 1,000; 0: no cross-validation, but the
	// data set's own test records
	Folds int `toml:"folds,omitempty"`
	// Repeats is how many times the records are split into folds, each time anew, 1 to
	// 1,000; default 1.
	Repeats int `toml:"repeats,omitempty"`
	// Fold is the fold of this run, from 0: k of folds = n is fold k mod n of repeat k/n.
	Fold *int `toml:"fold,omitempty"`
}

// MaxFolds is the most folds, and the most repeats.
const MaxFolds = 1000

// Runs is the number of runs of a whole cross-validation; 0 without folds.
func (p *FoldParams) Runs() int { return p.Folds * max(1, p.Repeats) }

// CheckCounts checks folds and repeats. Errors are config.Errors on keys of [evaluate].
func (p *FoldParams) CheckCounts() error {
	switch {
	case p.Folds != 0 && (p.Folds < 2 || p.Folds > MaxFolds):
		return config.Bad("folds", p.Folds,
			fmt.Sprintf("2 to %d; 0 for the test records of the data set itself", MaxFolds))
	case p.Repeats < 0 || p.Repeats > MaxFolds:
		return config.Bad("repeats", p.Repeats, fmt.Sprintf("1 to %d", MaxFolds))
	case p.Repeats > 0 && p.Folds == 0:
		return config.Bad("repeats", p.Repeats, "nothing without folds, 2 or more")
	}
	return nil
}

// validateFolds checks the keys of cross-validation in a single run.
func validateFolds(f *File) error {
	p := &f.Evaluate.FoldParams
	if err := p.CheckCounts(); err != nil {
		return err
	}
	switch {
	case p.Folds == 0 && p.Fold != nil:
		return config.Bad("fold", *p.Fold, "nothing without folds, 2 or more")
	case p.Folds == 0:
		return nil
	case p.Fold == nil:
		file := f.doc.File()
		if file == builtinName {
			file = "FILE"
		}
		return config.Bad("folds", p.Folds, fmt.Sprintf("folds with fold = 0 to %d, which is one run; "+
			"sotto sweep %s runs all of them", p.Runs()-1, file))
	case *p.Fold < 0 || *p.Fold >= p.Runs():
		return config.Bad("fold", *p.Fold, fmt.Sprintf("0 to %d", p.Runs()-1))
	}
	return nil
}

// takeFold replaces the split of the data set by that of the run's fold, where it has
// one.
func (e builder) takeFold() error {
	p, s := &e.File.Evaluate.FoldParams, e.Task.Split
	if p.Folds == 0 {
		return nil
	}
	if s.GroundTruth.Rows > 0 || s.Vectors.Rows > 0 {
		return config.Bad("folds", p.Folds, "0 with data set "+e.File.Data.Dataset+
			", which belongs to its agents, or whose hidden vector each seed draws anew")
	}
	all := s.Pool()
	var rows [2][]int32
	for r, k := range p.deal(all, e.File.Run.Seed) {
		part := 0
		if k == *p.Fold%p.Folds {
			part = 1
		}
		rows[part] = append(rows[part], int32(r))
	}
	if len(rows[0]) == 0 || len(rows[1]) == 0 {
		return config.Bad("folds", p.Folds, fmt.Sprintf("fewer: fold %d has %d of the %d records of "+
			"data set %s", *p.Fold, len(rows[1]), all.Len(), e.File.Data.Dataset))
	}
	cut := *s
	cut.Train, cut.Test = all.Select(rows[0]), all.Select(rows[1])
	for part, d := range map[string]*data.Dataset{"train": cut.Train, "test": cut.Test} {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s part of fold %d of %d, seed %d, %s %s", part, *p.Fold,
			p.Folds, e.File.Run.Seed, s.Train.Digest, s.Test.Digest))
		d.Digest = hex.EncodeToString(sum[:])
	}
	e.Task.Split = &cut
	return nil
}

// deal returns the fold of each record, in the repeat of the run's fold. Of as many
// records as there are folds, one after the other, each goes to a fold of its own, in an
// order that is drawn anew for the next ones: the folds are of equal size within one, and
// where a record goes depends on its place and the seed alone. Where persons have several
// records, the coin of a person decides for all of them: sizes are equal in the mean.
func (p *FoldParams) deal(d *data.Dataset, seed uint64) []int {
	folds, repeat := make([]int, d.Len()), *p.Fold/p.Folds
	if d.Units != nil {
		what := fmt.Sprintf("folds of persons, repeat %d", repeat)
		for r := range folds {
			folds[r] = min(p.Folds-1, int(d.UnitCoin(seed, what, r)*float64(p.Folds)))
		}
		return folds
	}
	draws, order := rng.Public(seed, "folds of records", uint64(repeat)), make([]int, p.Folds)
	for r := range folds {
		at := r % p.Folds
		if at == 0 {
			for k := range order {
				order[k] = k
			}
			for k := p.Folds - 1; k > 0; k-- {
				j := draws.Below(uint64(k + 1))
				order[k], order[j] = order[j], order[k]
			}
		}
		folds[r] = order[at]
	}
	return folds
}

func foldRemark(e *Experiment, _ sim.Stats) string {
	p := &e.File.Evaluate.FoldParams
	if p.Folds == 0 {
		return ""
	}
	return fmt.Sprintf("cross-validation with %d folds: figures are of the test records of the run's own "+
		"fold alone; each fold is a run of its own, and with secret noise would cost its own epsilon",
		p.Folds)
}
