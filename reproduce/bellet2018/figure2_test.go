package bellet2018

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// A replicated warm start claims .05 and leaves gradients a claim of .5: with one update
// at p = 100 their noise is 2/.5 on each coordinate, relative to the clip of 100. What is
// charged is the sum of both at most: the clip's 100 times .5, and the .05 that the fit
// truly costs.
func TestReplicatedWarmStart(t *testing.T) {
	x := figure2Tasks("warm")[0].task
	if x.method != "published" || x.other != "output" || x.updates != 1 || x.budget != "0.55" {
		t.Fatalf("%+v", x)
	}
	x.seed, x.wakes, x.every = 1, 1200, 1200
	row := runTasks(t, t.TempDir(), x)[0]
	if want := 2 / .5 / 100; math.Abs(row.Noise-want) > 1e-12 {
		t.Errorf("noise multiplier %g, want %g", row.Noise, want)
	}
	// by δ alone at least what the gradient costs: 50 + 2 ln(1 - δ) (Balle et al. 2020)
	least := 50 + 2*math.Log(1-math.Exp(-5))
	if row.Charges != 2 || !(row.EpsilonUpper > least-1e-3) || !(row.EpsilonUpper <= 50.05) {
		t.Errorf("epsilon %g in %d charges, want %g to 50.05 in 2", row.EpsilonUpper, row.Charges, least)
	}
}

// The warm start with noise of the published kind has the length of Laplace noise of
// scale 2/(2λ m .05) on each of 100 coordinates: times 2λ m, 2·20 √(2·100) in the root
// mean square. K-norm noise has a radius of law Gamma(p, Δ/ε): a root mean square of
// √(p(p+1)) Δ/ε, where Δ = 2X/(2λ m) for features of norm X.
func TestPublishedKindOfWarmStart(t *testing.T) {
	value := func(key string) float64 {
		for _, s := range others["output published"] {
			if v, ok := strings.CutPrefix(s, key+"="); ok {
				x, err := strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
		}
		t.Fatalf("no %s", key)
		return 0
	}
	got := math.Sqrt(100*101) * 2 * value("privacy.feature_norm") / value("privacy.warm_epsilon")
	if want := 2 * 20 * math.Sqrt(200); math.Abs(got/want-1) > .01 {
		t.Errorf("length %g over 1/(2λm), want %g", got, want)
	}
	if x := value("privacy.feature_norm"); x != 10 { // √p: the cube's corners
		t.Errorf("features are scaled to norm %g", x)
	}
}
