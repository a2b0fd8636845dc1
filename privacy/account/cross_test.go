package account

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawEvent makes a mechanism with ordinary to extreme parameters.
func drawEvent(t *rapid.T) Event {
	log := func(name string, lo, hi float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
	}
	unit := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
	var ev Event
	var err error
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		ev, err = Gaussian(log("noise", 0.05, 1e6), log("shift", 0.1, 10))
	case 1:
		ev, err = Laplace(log("scale", 0.02, 1e6))
	case 2:
		ev, err = DiscreteLaplace(log("a", 1e-6, 20), rapid.IntRange(1, 1000).Draw(t, "l1"))
	case 3:
		ev, err = DiscreteGaussian(log("sigma", 0.05, 200), float64(rapid.IntRange(1, 50).Draw(t, "l2")), 50,
			1)
	case 4:
		ev, err = BoundedNoise(BoundedGaussian, log("scale", 0.05, 100), log("truncation", 0.2, 1000), 0)
	case 5:
		ev, err = BoundedNoise(BoundedLaplace, log("scale", 0.05, 100), log("truncation", 0.2, 1000), 0)
	case 6:
		ev, err = EpsDelta(log("epsilon", 1e-6, 20), unit("delta")*unit("delta"))
	case 7:
		ev, err = EpsDelta(log("epsilon", 1e-6, 20), 0)
	case 8:
		ev, err = RandomizedResponse(unit("p"), rapid.IntRange(2, 50).Draw(t, "k"))
	case 9:
		p := unit("p")
		ev, err = MixtureGaussian(log("noise", 0.2, 100), []float64{0, 1, log("far", 1.01, 20)},
			[]float64{1 - p, p / 2, p / 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// TestAccountantsAgree: for random mechanisms, sampled or not, every accountant that
// accepts them gives a valid interval, and no proven lower bound exceeds another
// accountant's upper bound.
func TestAccountantsAgree(t *testing.T) {
	fewer(t, 4)
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]Adjacency{AddRemove, ReplaceOne, ZeroOut}).Draw(t, "adjacency")
		ev := drawEvent(t)
		if rapid.Bool().Draw(t, "sampled") && ev.Type() != TypeMixtureGaussian {
			var err error
			if ev, err = PoissonSampled(rapid.Float64Range(1e-4, 1).Draw(t, "rate"), ev); err != nil {
				t.Fatal(err)
			}
		}
		n := rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "count")
		delta := rapid.SampledFrom([]float64{0, 1e-12, 1e-5, 1e-2, 0.5}).Draw(t, "delta")
		lower, least := 0.0, math.Inf(1)
		for _, name := range Names() {
			a, err := New(name, adj, Record())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Compose(ev, n); errors.Is(err, ErrUnsupported) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			i, err := a.Epsilon(delta)
			if errors.Is(err, ErrDeltaTooSmall) {
				continue
			}
			if err != nil || math.IsNaN(i.Lower) || math.IsNaN(i.Upper) || i.Lower < 0 || i.Lower > i.Upper {
				t.Fatalf("%s: %v, %v", name, i, err)
			}
			lower, least = math.Max(lower, i.Lower), math.Min(least, i.Upper)
			d, err := a.(DeltaAccountant).Delta(math.Min(i.Upper, 500))
			if err != nil || math.IsNaN(d.Upper) || d.Lower > d.Upper ||
				i.Upper < 500 && d.Lower > delta*(1+1e-6)+1e-13 {
				t.Fatalf("%s: delta at %v is %v, %v", name, i.Upper, d, err)
			}
		}
		if lower > least*(1+1e-9)+1e-9 {
			t.Fatalf("a lower bound of %v against an upper bound of %v", lower, least)
		}
	})
}
