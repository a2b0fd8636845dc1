package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"sotto/experiment/metric"
	"sotto/experiment/rundir"
	"sotto/internal/sample"
)

// SeedAxis is the key that runs of one setting vary.
const SeedAxis = "seed"

// Joined is the rows of one setting, which differ in some axes alone.
type Joined struct {
	Values []string // of the axes, in their order; those that differ are ""
	Rows   []Row
}

// join joins rows that differ in axes over alone, in the order of their first cells; nil
// where the axes have none of these.
func join(axes []string, rows []Row, over ...string) []Joined {
	left := func(k int) bool { return slices.Contains(over, axes[k]) }
	found := false
	var all []Joined
	at := map[string]int{}
	for _, r := range rows {
		values := slices.Clone(r.Values)
		for k := range values {
			if left(k) {
				values[k], found = "", true
			}
		}
		key := fmt.Sprintf("%q", values)
		k, ok := at[key]
		if !ok {
			k, at[key] = len(all), len(all)
			all = append(all, Joined{Values: values})
		}
		all[k].Rows = append(all[k].Rows, r)
	}
	if !found {
		return nil
	}
	return all
}

// ByFold joins rows that differ in the fold alone, in the order of their first cells; nil
// where the axes have no fold.
func ByFold(axes []string, rows []Row) []Joined { return join(axes, rows, FoldAxis) }

// BySeed joins rows that differ in the seed, and in the fold, alone; nil where the axes
// have no seed, or no setting has two.
func BySeed(axes []string, rows []Row) []Joined {
	seed := slices.Index(axes, SeedAxis)
	if seed < 0 {
		return nil
	}
	all := join(axes, rows, SeedAxis, FoldAxis)
	none := func(*Row) float64 { return 0 }
	if !slices.ContainsFunc(all, func(j Joined) bool { return len(j.over(seed, none)) > 1 }) {
		return nil
	}
	return all
}

// Seeds are the values of a figure of [Row.Quality], one for each seed: the mean over its
// folds.
func (j *Joined) Seeds(axes []string, figure string) []float64 {
	over := j.over(slices.Index(axes, SeedAxis), func(r *Row) float64 {
		for _, f := range r.Quality() {
			if f.Name == figure {
				return f.Value
			}
		}
		return math.NaN()
	})
	var values []float64
	for _, seed := range slices.Sorted(maps.Keys(over)) {
		values = append(values, over[seed])
	}
	return values
}

// compared are the figures that settings are compared by: the first that all have.
var compared = []struct {
	name string
	of   func(r *Row) float64
}{
	{metric.Accuracy, func(r *Row) float64 { return r.Accuracy.Mean }},
	{rundir.RMSE, func(r *Row) float64 { return r.RMSE }},
	{"loss", func(r *Row) float64 { return r.Loss }},
}

// Compare returns what each setting but the first has more than it, over the seeds that
// both have, and of which figure; nil where there are no two settings, or no pairs. A run
// that has diverged is not left out: what it is compared in is not a number.
func Compare(axes []string, settings []Joined) (figure string, less []sample.Difference) {
	seed, fold := slices.Index(axes, SeedAxis), slices.Index(axes, FoldAxis)
	for _, f := range compared {
		if !slices.ContainsFunc(settings, func(j Joined) bool { return j.lacks(f.of) }) {
			runs := make([]map[string][]sample.Run, len(settings))
			for k := range settings {
				runs[k] = settings[k].runs(seed, fold, f.of)
			}
			if less = sample.Compare(runs); !sample.Paired(less) {
				return "", nil
			}
			return f.name, less
		}
	}
	return "", nil
}

// lacks says that no row has a figure.
func (j *Joined) lacks(figure func(*Row) float64) bool {
	return !slices.ContainsFunc(j.Rows, func(r Row) bool { return !math.IsNaN(figure(&r)) })
}

// runs are a figure by seed and fold; fold is below 0 where the axes have none.
func (j *Joined) runs(seed, fold int, figure func(*Row) float64) map[string][]sample.Run {
	out := map[string][]sample.Run{}
	for _, r := range j.Rows {
		n, of := number(r.Values[seed]), ""
		if fold >= 0 {
			of = number(r.Values[fold])
		}
		out[n] = append(out[n], sample.Run{Fold: of, Figure: figure(&r)})
	}
	return out
}

// over is a figure by seed, the mean over folds.
func (j *Joined) over(seed int, figure func(*Row) float64) map[string]float64 {
	out := map[string]float64{}
	for n, runs := range j.runs(seed, -1, figure) {
		var folds sample.Sample
		for _, r := range runs {
			folds = append(folds, r.Figure)
		}
		out[n] = folds.Mean()
	}
	return out
}
