package muffliato2022

import (
	"context"
	"math"
	"strings"
	"testing"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

func runStudy(t *testing.T, name string) *reproduce.Document {
	t.Helper()
	d, err := reproduce.Papers{Paper}.Run(context.Background(), name,
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
			Sweep: sweep.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(append(d.Header, d.Notes...), "\n"); !strings.Contains(text, "not a bound") ||
		!strings.Contains(text, "no guarantee") {
		t.Errorf("%s does not say what its figures are", name)
	}
	return d
}

// On the complete graph everybody sees all: exact mean (n-1)/n; the formula has 1 for the
// first round and (n-1)/n for each other one. Exact means are never above (n-1)/n, and
// noise for them gives the error that the rounds' matrix predicts: n times it on exact
// averages. The run has 2,000 coordinates, whose squares are within 6 standard
// deviations, .19, of it (false reject rate 1e-8), and rounds leave less than .05 of the
// values. The second line is above the formula.
func TestTable(t *testing.T) {
	d := runStudy(t, "seed004-table")
	if len(d.Rows) != 5*(2+1) {
		t.Fatalf("%d lines, want 15", len(d.Rows))
	}
	for _, n := range d.Notes { // columns were added behind them
		if strings.Contains(n, "last two columns") {
			t.Errorf("a note on columns by their places, %q: %s", d.Header, n)
		}
	}
	for _, r := range d.Rows {
		if strings.HasPrefix(r[1], "slope") {
			continue
		}
		formula, exact, predicted, measured := cellNumber(t, r[5]), cellNumber(t, r[6]), cellNumber(t, r[11]),
			cellNumber(t, r[12])
		rounds, n := cellNumber(t, r[4]), cellNumber(t, r[1])
		if !(exact <= (n-1)/n+1e-4) || predicted < n*exact*(1-1e-3) || math.Abs(measured/predicted-1) > .24 ||
			cellNumber(t, r[15]) < formula {
			t.Errorf("%q", r)
		}
		if want := (n - 1) / n * (1 + (rounds-1)*(n-1)/n); r[0] == "complete" &&
			(math.Abs(exact-(n-1)/n) > 1e-4 || math.Abs(formula-want) > 1e-3*want) {
			t.Errorf("%q: the formula gives %v", r, want)
		}
	}
}

// The published order is n^0 on an expander and n on complete graph and ring. On the
// complete graph, whose averages are exact after the first round, the exact error is n-1
// times the central one: a slope of ln(31/15)/ln 2 from 16 to 32. Slopes of 3 n^1.5 are
// 1.5.
func TestSlopes(t *testing.T) {
	n := []int{10, 40, 70, 1000}
	var rows [][]float64
	for _, x := range n {
		rows = append(rows, []float64{3 * math.Pow(float64(x), 1.5), 7})
	}
	if s := slopes(n, rows); math.Abs(s[0]-1.5) > 1e-12 || math.Abs(s[1]) > 1e-12 {
		t.Errorf("slopes %v, want 1.5 and 0", s)
	}
	d := runStudy(t, "seed004-table")
	want := map[string]float64{"expander": 0, "complete": 1, "ring": 1}
	for _, r := range d.Rows {
		if !strings.HasPrefix(r[1], "slope") {
			continue
		}
		if r[1] != "slope, 16 to 32" || len(r) != len(d.Header) {
			t.Errorf("%q", r)
		}
		if order, ok := want[r[0]]; ok && cellNumber(t, r[9]) != order {
			t.Errorf("%q: published order %v", r, order)
		}
		if r[0] == "complete" && math.Abs(cellNumber(t, r[11])-math.Log2(31./15)) > .01 {
			t.Errorf("%q: exact errors of the complete graph", r)
		}
	}
}

// Noise is such that each loss is the budget where it is calibrated for it, and the
// excess is that of the recursion: 100 coordinates, 6 standard deviations .85 (false
// reject rate below 1e-6 with the skew of chi square over 100).
func TestSGD(t *testing.T) {
	d := runStudy(t, "seed004-sgd")
	if len(d.Rows) != 2*(1+5*3)+6 {
		t.Fatalf("%d lines", len(d.Rows))
	}
	seen := 0
	for _, r := range d.Rows {
		if strings.HasPrefix(r[1], "slope") {
			// a curator's noise² is T/n, and the theorem's order 1/n²; what the recursion
			// gives for exact averages is noise²/n times a constant
			if seen++; math.Abs(cellNumber(t, r[11])-cellNumber(t, r[6])+1) > .011 ||
				r[2] == "central" && (r[6] != "-1.00" || r[12] != "-2.00") {
				t.Errorf("%q", r)
			}
			continue
		}
		if at := map[string]int{"formula": 7, "exact": 8, "local": 9}[r[2]]; at > 0 &&
			cellNumber(t, r[at]) != 1 {
			t.Errorf("%q", r)
		}
		if r[2] == "central" {
			continue
		}
		ratio := cellNumber(t, r[10]) / cellNumber(t, r[11])
		if !(ratio > .3 && ratio < 1.85) {
			t.Errorf("%q: excess is %v of the prediction", r, ratio)
		}
	}
	if seen != 6 {
		t.Errorf("%d lines of slopes, want 6", seen)
	}
	if !strings.Contains(strings.Join(d.Header, " "), "exact (estimate)") {
		t.Error("losses over steps are not labelled")
	}
}
