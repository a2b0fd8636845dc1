package muffliato2022

import (
	"context"
	"math"
	"sotto/experiment/sweep"
	"strings"
	"testing"

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

// On the complete graph of 16 everybody sees all: exact mean 15/16; the formula has 1 for
// the first round and 15/16 for each other one. Exact means are never above (n-1)/n, and
// noise for them gives the error that the rounds' matrix predicts: n times it on exact
// averages. The run has 2,000 coordinates, whose squares are within 6 standard
// deviations, .19, of it (false reject rate 1e-8), and rounds leave less than .05 of the
// values.
func TestTable(t *testing.T) {
	d := runStudy(t, "seed004-table")
	if len(d.Rows) != 5 {
		t.Fatalf("%d lines, want 5", len(d.Rows))
	}
	for _, r := range d.Rows {
		formula, exact, predicted, measured := cellNumber(t, r[5]), cellNumber(t, r[6]), cellNumber(t, r[11]),
			cellNumber(t, r[12])
		rounds := cellNumber(t, r[4])
		if !(exact <= 15./16+1e-4) || predicted < 16*exact*(1-1e-3) || math.Abs(measured/predicted-1) > .24 {
			t.Errorf("%q", r)
		}
		if want := 15. / 16 * (1 + (rounds-1)*15/16); r[0] == "complete" &&
			(exact != .9375 || math.Abs(formula-want) > 1e-3*want) {
			t.Errorf("%q: the formula gives %v", r, want)
		}
	}
}

// Noise is such that each loss is the budget where it is calibrated for it, and the
// excess is that of the recursion: 100 coordinates, 6 standard deviations .85 (false
// reject rate below 1e-6 with the skew of chi square over 100).
func TestSGD(t *testing.T) {
	d := runStudy(t, "seed004-sgd")
	if len(d.Rows) != 1+5*3 {
		t.Fatalf("%d lines", len(d.Rows))
	}
	for _, r := range d.Rows[1:] {
		at := map[string]int{"formula": 6, "exact": 7, "local": 8}[r[1]]
		if cellNumber(t, r[at]) != 1 {
			t.Errorf("%q", r)
		}
		if ratio := cellNumber(t, r[9]) / cellNumber(t, r[10]); !(ratio > .3 && ratio < 1.85) {
			t.Errorf("%q: excess is %v of the prediction", r, ratio)
		}
	}
	if !strings.Contains(strings.Join(d.Header, " "), "exact (estimate)") {
		t.Error("losses over steps are not labelled")
	}
}
