package privacytest

import (
	"math"
	"testing"
)

// Closed forms: with none of n seen the limit is 1 - level^(1/n), with n-1 of n it is (1
// - level)^(1/n).
func TestClopperPearson(t *testing.T) {
	for _, n := range []int{1, 10, 40_000} {
		for _, level := range []float64{.05, 1e-6} {
			if got, want := clopperPearson(0, n, level),
				-math.Expm1(math.Log(level)/float64(n)); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("0 of %d at level %g: %g, want %g", n, level, got, want)
			}
			if got := clopperPearson(n, n, level); got != 1 {
				t.Errorf("%d of %d: %g, want 1", n, n, got)
			}
		}
	}
	if p := clopperPearson(9, 10, .05); math.Abs(math.Pow(p, 10)-.95) > 1e-9 {
		t.Errorf("9 of 10: %g has P[10 of 10] = %g, want .95", p, math.Pow(p, 10))
	}
}

// n values in the middle of n equal parts are as close to uniform as can be, at a
// distance of 1/(2n).
func TestKS(t *testing.T) {
	x := make([]float64, 100)
	for i := range x {
		x[i] = (float64(i) + .5) / 100
	}
	if d := KS(x, func(x float64) float64 { return x }); math.Abs(d-.05) > 1e-12 {
		t.Errorf("statistic %g, want .05", d)
	}
	if d := KS(x, func(x float64) float64 { return x * x }); math.Abs(d-2.5) > .05 { // sup (x - x^2) = 1/4
		t.Errorf("statistic %g against another law, want about 2.5", d)
	}
}
