package account

import (
	"math"
	"testing"

	"sotto/privacy/account/gdp"
)

// TestSteepLosses: where e^eps overflows, bounds stay bounds: a Gaussian sent through the
// grids and through the exact profile never falls below the closed form.
func TestSteepLosses(t *testing.T) {
	t.Parallel()
	for _, mu := range []float64{30, 36, 38, 45} { // losses around mu^2/2, 450 to 1,000
		mix := must(t)(MixtureGaussian(1/mu, []float64{1}, []float64{1}))
		exact := gdp.Epsilon(mu, 1e-5)
		single := newPLD(t, AddRemove, Record())
		if e := upper(t, single, mix, 1, 1e-5); e < exact*(1-1e-9) || e > exact*1.2 {
			t.Errorf("mu %v: %v, exact %v", mu, e, exact)
		}
		half := must(t)(MixtureGaussian(math.Sqrt2/mu, []float64{1}, []float64{1}))
		grid := newPLD(t, AddRemove, Record(), 1e-2)
		if err := grid.Compose(half, 2); err != nil {
			t.Fatal(err)
		}
		i, err := grid.Epsilon(1e-5)
		if err != nil || i.Upper < exact || i.Lower > exact || i.Upper > exact*1.01 {
			t.Errorf("mu %v by grids: %v, exact %v (%v)", mu, i, exact, err)
		}
	}
}
