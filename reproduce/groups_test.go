package reproduce

import (
	"slices"
	"testing"

	"sotto/experiment/sweep"
)

// Of a study that is not whole two runs have other seeds, as many of each: those of one
// seed are compared, in the order of cells.
func TestLess(t *testing.T) {
	f := &Results{}
	add := func(cell int, run, seed string, accuracy float64) {
		r := sweep.Row{Cell: cell, Values: []string{run, seed}}
		r.Accuracy.Mean = accuracy
		f.Rows = append(f.Rows, r)
	}
	add(0, "a", "1", .5)
	add(1, "a", "2", .75)
	add(6, "b", "2", .25)
	add(7, "b", "3", .125)
	add(8, "c", "3", 1)
	g := Group(f, func(run string) []string { return []string{run, ""} })
	for _, c := range []struct {
		run, other string
		want       Sample
	}{{"a", "b", Sample{50}}, {"b", "a", Sample{-50}}, {"c", "b", Sample{87.5}}, {"a", "c", nil},
		{"a", "a", Sample{0, 0}}, {"a", "none", nil}} {
		if got := g.AccuracyLess(c.run, c.other); !slices.Equal(got, c.want) {
			t.Errorf("%s less %s: %v, want %v", c.run, c.other, got, c.want)
		}
	}
}
