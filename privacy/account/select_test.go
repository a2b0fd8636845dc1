package account

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// bestOfPoisson is the delta at epsilon of publishing the largest of a Poisson number of
// normals with mean 0 or 1/noise, or that there is none, by quadrature: with so many
// draws in the mean the largest has the density mean φ(y) exp(-mean (1-Φ(y))). scored
// false: the score is independent of the output, so that a run is published with its own
// law.
func bestOfPoisson(noise, mean, epsilon float64, scored bool) float64 {
	density := func(y, at float64) float64 {
		phi := distuv.UnitNormal.Prob(y - at)
		if !scored {
			return -math.Expm1(-mean) * phi
		}
		return mean * phi * math.Exp(-mean*(1-distuv.UnitNormal.CDF(y-at)))
	}
	shift := 1 / noise
	worst := 0.
	for _, p := range [][2]float64{{shift, 0}, {0, shift}} {
		sum := math.Max(0, math.Exp(-mean)*-math.Expm1(epsilon)) // nothing is published
		const step = 1e-3
		for y := -12.; y < 12+shift; y += step {
			sum += step * math.Max(0, density(y, p[0])-math.Exp(epsilon)*density(y, p[1]))
		}
		worst = math.Max(worst, sum)
	}
	return worst
}

// Private selection with a Poisson number of runs is never below what the published best
// tells, for means below 1 too: there the printed theorem, which leaves out that there
// may be no run, gave epsilon 0 where the truth is 4.15.
func TestPoissonSelectionIsNeverBelowTheTruth(t *testing.T) {
	const delta = 1e-5
	for _, noise := range []float64{1, 3, 10} {
		one, err := Gaussian(noise, 1)
		if err != nil {
			t.Fatal(err)
		}
		last := 0.
		for _, mean := range []float64{1e-3, .01, .1, .3, .5, .8, .99, .9999, 1, 1.01, 1.5, 3, 10, 40} {
			ev, err := RepeatSelectPoisson(mean, one)
			if err != nil {
				t.Fatal(err)
			}
			acc, err := New("rdp", AddRemove, Record())
			if err != nil {
				t.Fatal(err)
			}
			if err := acc.Compose(ev, 1); err != nil {
				t.Fatal(err)
			}
			i, err := acc.Epsilon(delta)
			if err != nil {
				t.Fatal(err)
			}
			for _, scored := range []bool{false, true} {
				if d := bestOfPoisson(noise, mean, i.Upper, scored); d > delta*(1+1e-6) {
					t.Errorf("noise %g, mean %g: epsilon %.6g has delta %.3g, claimed %g", noise, mean,
						i.Upper,
						d, delta)
				}
			}
			if !(i.Upper > 0) {
				t.Errorf("noise %g, mean %g: epsilon %g", noise, mean, i.Upper)
			}
			if i.Upper < .9*last { // more runs tell more; the bound of means from 1 on is another
				t.Errorf("noise %g: epsilon falls from %g to %g at mean %g", noise, last, i.Upper, mean)
			}
			last = i.Upper
		}
	}
}
