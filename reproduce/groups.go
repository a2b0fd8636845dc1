package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/report/plot"
)

// Groups are the rows of a study by their settings, seeds apart. T says what a run is.
type Groups[T any] struct {
	rows   map[string][]sweep.Row
	values func(T) []string
	curves Curves
}

// Group collects what runs have left. values are a run's on the axes of the study, of
// which the last is the seed.
func Group[T any](f *Results, values func(run T) []string) *Groups[T] {
	g := &Groups[T]{map[string][]sweep.Row{}, values, f.Curves}
	for _, row := range f.Rows {
		k := settings(row.Values)
		g.rows[k] = append(g.rows[k], row)
	}
	for _, rows := range g.rows { // seeds in order
		slices.SortStableFunc(rows, func(a, b sweep.Row) int { return a.Cell - b.Cell })
	}
	return g
}

// settings names a run without its seed.
func settings(values []string) string { return fmt.Sprint(values[:len(values)-1]) }

// Of returns the rows of a run with any seed, in the order of cells.
func (g *Groups[T]) Of(run T) []sweep.Row { return g.rows[settings(g.values(run))] }

// Shared are the groups with those rows of the given runs alone whose seeds all of these
// runs have: their samples are pairs, whatever has been run.
func (g *Groups[T]) Shared(runs ...T) *Groups[T] {
	out := &Groups[T]{maps.Clone(g.rows), g.values, g.curves}
	for _, run := range runs {
		k := settings(g.values(run))
		out.rows[k] = slices.DeleteFunc(slices.Clone(g.rows[k]), func(r sweep.Row) bool {
			same := func(o sweep.Row) bool { return SeedOf(&o) == SeedOf(&r) }
			return slices.ContainsFunc(runs, func(o T) bool { return !slices.ContainsFunc(g.Of(o), same) })
		})
	}
	return out
}

// SeedOf is the last value of a row of a study.
func SeedOf(r *sweep.Row) string { return r.Values[len(r.Values)-1] }

// Sample is a figure of each row.
func (g *Groups[T]) Sample(run T, figure func(*sweep.Row) float64) Sample {
	var s Sample
	rows := g.Of(run)
	for i := range rows {
		s = append(s, figure(&rows[i]))
	}
	return s
}

// Accuracy is in percent.
func (g *Groups[T]) Accuracy(run T) Sample {
	return g.Sample(run, func(r *sweep.Row) float64 { return 100 * r.Accuracy.Mean })
}

// Less is a figure of each row of a run less that of the other's with the same seed, over
// the seeds that both have: of a study that is not whole two runs may have others.
func (g *Groups[T]) Less(run, other T, figure func(*sweep.Row) float64) Sample {
	both := g.Shared(run, other)
	return both.Sample(run, figure).Less(both.Sample(other, figure))
}

// AccuracyLess is Less of accuracies, in percent.
func (g *Groups[T]) AccuracyLess(run, other T) Sample {
	return g.Less(run, other, func(r *sweep.Row) float64 { return 100 * r.Accuracy.Mean })
}

// Epsilon is the largest of the rows; nothing without rows.
func (g *Groups[T]) Epsilon(run T) string {
	worst := math.Inf(-1)
	for _, row := range g.Of(run) {
		worst = max(worst, row.EpsilonUpper)
	}
	if math.IsInf(worst, -1) {
		return ""
	}
	return Epsilon(worst)
}

// Last is a kept metric's value at the end of each run.
func (g *Groups[T]) Last(run T, metric, agent string) Sample {
	return g.curves.last(g.Of(run), metric, agent)
}

// Over is a kept metric against rounds, or against vectors transmitted: mean and standard
// deviation over seeds.
func (g *Groups[T]) Over(run T, metric, agent string, vectors bool) []plot.Point {
	return g.curves.over(g.Of(run), metric, agent, vectors)
}

// Series is a kept metric of a row's run by round, for one agent or "mean" or "all".
func (g *Groups[T]) Series(r *sweep.Row, metric, agent string) (rounds []uint64, values []float64) {
	return series(g.Kept(r), metric, agent)
}

// Kept are all kept metrics of a row's run.
func (g *Groups[T]) Kept(r *sweep.Row) []rundir.Row { return g.curves.of(r) }
