package tune

import (
	"fmt"
	"math"
	"testing"
)

// A trial whose values leave the floats ends no search: it goes on to its end, and is
// ranked like any other.
func TestTrialsThatDiverge(t *testing.T) {
	for method, keys := range map[string]string{
		"pbt":    "population = 4\ninterval = 2",
		"random": "trials = 8",
	} {
		s := tinySearch(t, fmt.Sprintf("seed = 1\nmethod = %q\nmetric = \"loss\"\n%s", method, keys),
			"tune.space.algorithm.step_size={choice=[0.5, 1e30]}", "algorithm.weight_decay=0.01")
		res := search(t, s, Options{})
		diverged := 0
		for _, row := range res.Rows {
			if math.IsNaN(row.Score) || math.IsInf(row.Score, 0) {
				diverged++
			}
		}
		if diverged == 0 || math.IsNaN(res.Best.Score) || res.Best.Values[0] != "0.5" {
			t.Errorf("%s: %d trials of %d diverged, the best is %+v", method, diverged, len(res.Rows),
				res.Best)
		}
	}
}

// Where the search is charged they cost what all others do, so that private selection's
// figure holds, and nothing tells that there was one.
func TestTrialsThatDivergeAreCharged(t *testing.T) {
	s, err := privateSearch(t, "trials = 4\nseed = 2\nsimulated = true",
		"tune.space.algorithm.step_size={choice=[0.5, 1e30]}", "algorithm.weight_decay=0.01")
	if err != nil {
		t.Fatal(err)
	}
	res := search(t, s, Options{})
	values := map[string]bool{}
	for _, row := range res.Rows {
		values[row.Values[0]] = true
		if math.IsNaN(row.Score) {
			t.Errorf("%v has no score", row.Values)
		}
	}
	if len(values) < 2 || res.Best == nil {
		t.Fatalf("trials of %v", values)
	}
	want := gaussianSelection(6./50+1./200, 4, 1e-5, "geometric")
	for _, c := range res.Spent {
		if got := float64(c.Chosen.Upper); math.Abs(got/want-1) > 2e-3 {
			t.Errorf("epsilon of the selection is %.5f, the theorem gives %.5f", got, want)
		}
	}
}
