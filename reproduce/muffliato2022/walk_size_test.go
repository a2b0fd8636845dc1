package muffliato2022

import (
	"math"
	"strings"
	"testing"
)

// The rule by hand, three agents, path 0 1 2 1: agent 1 is there after one step, from 0,
// to whom everybody has sent before: 2 x .4 for agent 0, a sample of rate 1/3 for agent
// 2. Then after two more, from 2, to whom it had sent: 2 x .4/sqrt 2 for agent 2, a
// sample of rate 5/9 for agent 0. Agent 2 is there once, after two steps, from 1.
func TestCycleLosses(t *testing.T) {
	losses, visits := cycleLosses(3, .4, []int{0, 1, 2, 1})
	if visits[0] != 0 || visits[1] != 2 || visits[2] != 1 {
		t.Errorf("visits %v", visits)
	}
	root := .4 / math.Sqrt2
	third, rest := math.Log(1+(math.Exp(.4)-1)/3), math.Log(1+5*(math.Exp(root)-1)/9)
	// plain sums: two releases or one cost less than the formulas with ln(1/delta)
	for _, tc := range []struct {
		o, v int
		want float64
	}{{1, 0, .8 + rest}, {1, 2, third + 2*root}, {2, 1, root}, {2, 0, root}, {0, 1, 0}, {0, 2, 0}} {
		if got := losses[tc.o][tc.v]; math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("agent %d for observer %d: %v, want %v", tc.v, tc.o, got, tc.want)
		}
	}
	// 400 charges of .01: (e^.01 - 1) .01/(e^.01 + 1) each, and sqrt(2 x .04 x L), L the
	// less of ln(1/4e-5) and ln(e + .2/4e-5), which is 8.518
	var c charges
	c.add(.01, 400)
	want := 400*.01*math.Tanh(.005) + math.Sqrt(2*.04*math.Log(math.E+5000))
	if got := c.composed(400); math.Abs(got-want) > 1e-12 || math.Abs(want-.8455) > 1e-3 {
		t.Errorf("composed %v, want %v", got, want)
	}
}

// The mixture is below the loss against all and falls with n; so do the published mean
// and curve, which is charged for 200 contributions. Exact composition is below the
// advanced theorem's about as many visits.
func TestWalkOverAgents(t *testing.T) {
	d := runStudy(t, "seed004-walkn")
	if len(d.Rows) != 4 || len(d.Figures) != 1 || len(d.Figures[0].Curves) != 10 {
		t.Fatalf("%d lines", len(d.Rows))
	}
	for k, r := range d.Rows {
		at := func(c int) float64 { return cellNumber(t, r[c]) }
		if !(at(8) < at(7) && at(4) <= at(3) && at(3) <= at(5) && at(3) < at(2) && at(7) < at(2)) {
			t.Errorf("%q", r)
		}
		if want := 3 * at(0) / math.Sqrt(at(1)); math.Abs(at(6)/min(200*want,
			math.Sqrt(400*math.Log(1e7))*want+200*want*(math.Exp(want)-1))-1) > 1e-3 {
			t.Errorf("%q: the published curve", r)
		}
		if k%2 == 1 {
			for _, c := range []int{3, 6, 8} {
				if x := cellNumber(t, d.Rows[k-1][c]); at(c) >= x {
					t.Errorf("%s: %v of %s agents after %v of fewer", d.Header[c], at(c), r[1], x)
				}
			}
		}
	}
	if text := strings.Join(d.Notes, "\n"); !strings.Contains(text, "Claimed") ||
		!strings.Contains(text, "secret hops") {
		t.Error("notes without what the figures are")
	}
}
