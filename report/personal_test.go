package report

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// Groups hold about an eighth of the agents each, and agents with equally many records
// are together.
func TestBins(t *testing.T) {
	var all []sized
	for i := range 16 {
		all = append(all, sized{10 + i/5, float64(i)}) // 5 of 10, 5 of 11, 5 of 12, one of 13
	}
	want := []plot.Point{{X: 10, Y: 2}, {X: 11, Y: 7}, {X: 12, Y: 12}, {X: 13, Y: 15}}
	got := bins(all)
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for k, p := range got {
		sd := math.Sqrt(2.5) // of five consecutive numbers
		if k == 3 {
			sd = 0
		}
		if p.X != want[k].X || math.Abs(p.Y-want[k].Y) > 1e-12 || math.Abs(p.High-p.Y-sd) > 1e-12 ||
			math.Abs(p.Y-p.Low-sd) > 1e-12 {
			t.Errorf("group %d: %v, want %v with sd %g", k, p, want[k], sd)
		}
	}
	if bins(nil) != nil {
		t.Error("groups of nobody")
	}
}

// What is left of a budget is the budget less what was spent; agents with equal budgets
// and charges share a line.
func TestBudgetRows(t *testing.T) {
	r := &run{Run: &rundir.Run{Summary: rundir.Summary{Seed: 7}}}
	for i, p := range []rundir.PrivacyLine{
		{Target: 1, Epsilon: rundir.NewBounds(.2, .25), Charges: 3, Records: 10},
		{Target: 20, Epsilon: rundir.NewBounds(20, 20.5), Charges: 3},
		{Target: 1, Epsilon: rundir.NewBounds(.2, .25), Charges: 3, Records: 14},
		{Target: 2, Epsilon: rundir.NewBounds(0, math.Inf(1))},
		{Epsilon: rundir.NewBounds(1, 1)}, // no budget of its own
	} {
		p.Agent = i
		r.Summary.Privacy = append(r.Summary.Privacy, p)
	}
	rows := (&group{label: "x", runs: []*run{r}}).budgetRows()
	want := [][]string{
		{"x", "7", "0,2", "10 to 14", "1.0000", "0.2500", "0.7500", "3"},
		{"x", "7", "1", "–", "20.0000", "20.5000", "0.0000", "3"},
		{"x", "7", "3", "–", "2.0000", "infinite", "none: no guarantee", "0"},
	}
	if !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
		t.Errorf("%q, want %q", rows, want)
	}
	for i := range 2 * mostBudgets {
		r.Summary.Privacy = append(r.Summary.Privacy, rundir.PrivacyLine{Agent: 5 + i,
			Target: rundir.NewBounds(0, float64(3+i)).Upper})
	}
	rows = (&group{label: "x", runs: []*run{r}}).budgetRows()
	if last := rows[len(rows)-1]; len(rows) != mostBudgets+1 ||
		last[2] != strconv.Itoa(2*mostBudgets+3-mostBudgets)+" more lines" {
		t.Errorf("%d rows, the last is %q", len(rows), last)
	}
}

// An interval without width claims certainty: a page has none of it.
func TestFigureText(t *testing.T) {
	one := 1.
	for want, f := range map[string]figure{"1": {Value: &one, Interval: &[2]float64{1, 1}},
		"1 (0.9 to 1)": {Value: &one, Interval: &[2]float64{.9, 1}}, "undefined: why": {Undefined: "why"}} {
		if got := figureText(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
