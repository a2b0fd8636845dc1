package account_test

import (
	"math"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
)

// One component of weight 1 is a Gaussian mechanism, and one of weight w releases nothing
// with probability 1-w.
func TestRevealedMixture(t *testing.T) {
	const delta = 1e-5
	for _, times := range []int{1, 10} {
		i, err := account.RevealedMixture([]float64{1}, []float64{.5}, times, delta)
		if err != nil {
			t.Fatal(err)
		}
		if exact := gdp.Epsilon(.5*math.Sqrt(float64(times)), delta); i.Upper < exact ||
			i.Upper > exact*1.001 {
			t.Errorf("%d copies: %v, want %v or little more", times, i.Upper, exact)
		}
	}
	// delta(eps) of the mixture is the weighted sum of two Gaussian profiles.
	i, err := account.RevealedMixture([]float64{.3, .2}, []float64{1, .25}, 1, delta)
	if err != nil {
		t.Fatal(err)
	}
	sum := .3*gdp.Delta(1, i.Upper) + .2*gdp.Delta(.25, i.Upper)
	if math.Abs(sum-delta) > 1e-6*delta {
		t.Errorf("delta %v at the epsilon of %v", sum, delta)
	}
	if _, err := account.RevealedMixture([]float64{.8, .8}, []float64{1, 1}, 1, delta); err == nil {
		t.Error("weights that sum to 1.6 are accepted")
	}
	if _, err := account.RevealedMixture([]float64{.8}, []float64{math.NaN()}, 1, delta); err == nil {
		t.Error("a mu that is no number is accepted")
	}
}
