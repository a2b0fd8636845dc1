package account

import (
	"math"
	"testing"

	"sotto/privacy/account/loss"
)

// What lies at the edges of the ranges is right or larger. True figures were computed by
// mpmath with 50 digits, from the definitions.
func TestEdges(t *testing.T) {
	ok := must(t)
	const never = -1
	for _, c := range []struct {
		name       string
		of         Event
		count      int
		a          Adjacency
		eps, delta float64 // of which one is asked for: never
		truth      float64
	}{
		{"Laplace just below its epsilon", ok(Laplace(18.013008746940937)), 1, AddRemove,
			0.055515434098138805, never, 7.1292954203512e-17},
		{"tails without digits", ok(PoissonSampled(0.0057161768, ok(Gaussian(0.0537457836, 1)))), 1,
			AddRemove, 535.828, never, 7.0320160755972e-90},
		{"798,687,748 of nearly nothing", ok(PoissonSampled(7.727e-9, ok(Gaussian(131436.28, 2)))), 798687748,
			ReplaceOne, never, 1.79e-10, 4.05e-9},
		{"noise of 1e16", ok(Gaussian(1e16, 1)), 1, AddRemove, 0, never, 3.9894228040143e-17},
		{"noise of 1e15", ok(Gaussian(1e15, 1)), 1, AddRemove, never, 1e-30, 7.6804114146073e-15},
		{"noise of 9e5", ok(Gaussian(900000, 1)), 1, AddRemove, 8.2e-6, never, 1.15137920382863e-20},
		{"noise of 1e-6", ok(Gaussian(1e-6, 1)), 1, AddRemove, 500003141592.653, never, 8.401553007748104e-4},
		{"a tail that the other world has below 1e-324", ok(PoissonSampled(0.015756974023125026,
			ok(Gaussian(0.11154276169297299, 1)))), 1, AddRemove, never, 1e-264, 346.00030230577},
		{"and its delta", ok(PoissonSampled(0.015756974023125026, ok(Gaussian(0.11154276169297299, 1)))), 1,
			AddRemove, 346, never, 1.0011682701857e-264},
		{"outcomes of one world alone", ok(BoundedNoise(BoundedGeneralized, math.Sqrt2, 9.5, 2)), 1,
			ReplaceOne, 50, never, 9.47848537069578e-18},
	} {
		acc, err := NewPLD(c.a, Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(c.of, c.count); err != nil {
			t.Fatal(err)
		}
		var i Interval
		if c.eps == never {
			i, err = acc.Epsilon(c.delta)
		} else {
			i, err = acc.Delta(c.eps)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if digits := c.truth * 1e-12; i.Lower > c.truth+digits || i.Upper < c.truth-digits {
			t.Errorf("%s: [%v, %v], true %v", c.name, i.Lower, i.Upper, c.truth)
		}
	}
}

// A delta that is smaller than any number, 3.56e-326 of noise 1 at epsilon 39, is not 0.
// That of pure noise is, from its epsilon on.
func TestDeltaBelowAllNumbers(t *testing.T) {
	ok := must(t)
	for name, make := range map[string]func() (Accountant, error){
		"pld": func() (Accountant, error) { return NewPLD(AddRemove, Record()) },
		"rdp": func() (Accountant, error) { return NewRDP(AddRemove, Record()) },
		"gdp": func() (Accountant, error) { return NewExactGaussian(AddRemove, Record()) },
		"kov": func() (Accountant, error) { return NewKOV(AddRemove, Record()) },
	} {
		delta := func(ev Event, eps float64) float64 {
			a, err := make()
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Compose(ev, 1); err != nil {
				t.Fatal(err)
			}
			i, err := a.(interface {
				Delta(float64) (Interval, error)
			}).Delta(eps)
			if err != nil || i.Lower != 0 {
				t.Errorf("%s: %v, %v", name, i, err)
			}
			return i.Upper
		}
		if name != "kov" {
			if d := delta(ok(Gaussian(1, 1)), 39); !(d > 0 && d < 1e-300) {
				t.Errorf("%s: delta %v of noise 1 at epsilon 39", name, d)
			}
		}
		if name != "gdp" {
			if d := delta(ok(Laplace(.5)), 2); d != 0 {
				t.Errorf("%s: delta %v of Laplace noise of epsilon 2 at 2", name, d)
			}
		}
	}
}

// Lower ends are those of losses that there are: grids end at a million, and count what
// they cut off as infinite, and as 1e-36 of delta.
func TestLowerEndsOfWhatIsCutOff(t *testing.T) {
	ok := must(t)
	acc, err := NewPLD(AddRemove, Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ok(PoissonSampled(.5, ok(Gaussian(1e-4, 1)))), 2); err != nil {
		t.Fatal(err)
	}
	if i, err := acc.Epsilon(1e-5); err != nil || i.Lower < loss.Steep || i.Lower > 1.1e8 {
		t.Errorf("%v, %v: without sampling it is 1.04e8", i, err)
	}
	if acc, err = NewPLD(AddRemove, Record()); err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ok(PoissonSampled(.01, ok(Gaussian(3, 1)))), 2); err != nil {
		t.Fatal(err)
	}
	if i, err := acc.Delta(15); err != nil || i.Lower > 1e-100 {
		t.Errorf("%v, %v: a brute force gives 1.1e-300", i, err)
	}
}

// Randomized response and samples of fixed size have divergences far below 1. Those of
// the first are exact, by mpmath; those of the second are known where the sample is
// nearly everybody.
func TestSmallDivergences(t *testing.T) {
	ok := must(t)
	respond := ok(RandomizedResponse(1-1e-9, 1000000))
	for _, c := range []struct {
		of    Event
		a     Adjacency
		order float64
		truth float64
	}{
		{respond, ReplaceOne, 1.01, 1.00949528118547e-12}, {respond, ReplaceOne, 2, 1.99900088795401e-12},
		{respond, ReplaceOne, 64, 6.39894922969275e-11}, {respond, ZeroOut, 1.01, 5.04832899807854e-13},
		{respond, ZeroOut, 2, 9.99998943435694e-13}, {respond, ZeroOut, 64, 3.26715049647798e-11},
	} {
		acc, err := NewRDP(c.a, Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(c.of, 1); err != nil {
			t.Fatal(err)
		}
		if got, err := acc.AtOrder(c.order); err != nil || got < c.truth*(1-1e-14) || got > c.truth*(1+1e-6) {
			t.Errorf("%v, order %v: %v, %v, true %v", c.a, c.order, got, err, c.truth)
		}
		if _, err := acc.AtOrder(math.Inf(1)); err == nil {
			t.Error("an infinite order has a divergence")
		}
	}
	// n = 10, 9 of them: 81/100 of the divergence of all, a/(2 s^2), and more
	acc, err := NewRDP(ReplaceOne, Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ok(FixedSizeSampled(10, 9, ok(Gaussian(3e8, 1)))), 1); err != nil {
		t.Fatal(err)
	}
	s := 1.5e8
	if got, err := acc.AtOrder(2); err != nil || got < .81/(s*s) {
		t.Errorf("%v, %v, at least %v", got, err, .81/(s*s))
	}
}

func TestBinomialTail(t *testing.T) {
	for _, c := range []struct {
		n, k     int
		q, truth float64
	}{
		{1 << 53, 100, 1e-15, 4.14689757080965e-67}, {1e15, 2000, 1e-12, 3.05819207863961e-170},
		{6000, 80, .01, 0.00754298805006497}, {100, 60, .5, 0.0284439668204904},
		{100, 40, .5, 0.982399899891148},
		{1000000, 900, .001, 0.999380812489868}, {5, 0, .5, 1}, {5, 6, .5, 0},
		{5, 5, .5, 1. / 32}, {5, 1, .5, 31. / 32},
	} {
		if got := binomialTail(c.n, c.k, c.q); math.Abs(got-c.truth) > 1e-10*c.truth {
			t.Errorf("P[Bin(%d, %v) >= %d]: %v, want %v", c.n, c.q, c.k, got, c.truth)
		}
	}
}
