package account_test

import (
	"errors"
	"math"
	"testing"

	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/rng"
)

// singleEpsilon is less than the epsilon of one Poisson-sampled Gaussian answer, and so
// of any number of them. Where the loss ln(1-q+q e^(mu x - mu^2/2)) of mu = 1/z exceeds
// eps, x exceeds t: delta(eps) is at least q Phi(mu-t) - e^eps Phi(-t), with the bound
// phi(t)/t of the latter.
func singleEpsilon(q, z, delta float64) float64 {
	mu := 1 / z
	least := func(eps float64) float64 {
		t := (eps-math.Log(q))/mu + mu/2
		return q*math.Erfc((t-mu)/math.Sqrt2)/2 - math.Exp(eps-t*t/2)/(t*math.Sqrt(2*math.Pi))
	}
	lo, hi := 0., mu*(mu+40)
	if least(lo) <= delta {
		return 0
	}
	for range 100 {
		if mid := (lo + hi) / 2; least(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo * (1 - 1e-9)
}

// Noise so small that exponents of losses exceed what a float64 holds has an epsilon in
// the hundreds and more. It was stated as 1.0 for multiplier .03, rate 1e-4, 10,000 steps
// and delta 1e-5, where one step alone has 588.
func TestTinyNoise(t *testing.T) {
	type row struct {
		q, z  float64
		n     int
		delta float64
	}
	rows := []row{{1e-4, .03, 10_000, 1e-5}}
	if long.Tests {
		rows = append(rows, row{1e-8, .03, 100, 1e-12}, row{1e-6, .005, 10, 1e-9},
			row{1e-9, .01, 1_000_000_000, 1e-5},
			row{1e-3, .03, 100_000, 1e-5}, row{1e-4, .02, 100_000, 1e-12},
			row{1e-4, .04, 10_000, 1e-5}, row{.5, .02, 100, 1e-5},
			row{.3, .3, 10_000_000, 1e-12}) // the last one was a panic
		r := rng.Public(1, "tiny noise")
		for range 8 {
			power := func(lo, hi float64) float64 { return math.Pow(10, lo+(hi-lo)*r.Float64()) }
			rows = append(rows, row{power(-9, 0), power(-2.5, -.5), int(power(0, 5)), power(-12, -3)})
		}
	}
	for _, c := range rows {
		g, err := account.Gaussian(c.z, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := account.PoissonSampled(c.q, g)
		if err != nil {
			t.Fatal(err)
		}
		pld, err := account.NewPLD(account.AddRemove, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		rdp, err := account.NewRDP(account.AddRemove, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		pld.Compose(e, c.n)
		rdp.Compose(e, c.n)
		i, err := pld.Epsilon(c.delta)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		alone, err := pld.UpperEpsilon(c.delta)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		above, err := rdp.Epsilon(c.delta)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		least := singleEpsilon(c.q, c.z, c.delta)
		if !(i.Upper >= least && alone >= least) || !(i.Lower <= i.Upper) ||
			!(i.Lower <= above.Upper*(1+1e-9)) {
			t.Errorf("%+v: %v, upper end alone %v, at least %v, RDP %v", c, i, alone, least, above.Upper)
		}
	}
}

// Of one answer with rate q in either direction delta at epsilon 0 is q(1-2Phi(-1/z)), as
// far as the two mixtures are apart. Tiny noise has the whole of q, and an epsilon far
// above 0, under replace-one as well. It was stated as 0, with lower end 0.
func TestTinyNoiseOfReplacedRecords(t *testing.T) {
	rates, noises := []float64{.5}, []float64{.0259}
	if long.Tests {
		rates, noises = []float64{.01, .5}, []float64{.3, .05, .026, .0259, .02, .01, .001}
	}
	for _, q := range rates {
		for _, z := range noises {
			g, err := account.Gaussian(z, 2) // of a shift of two clips, as replacing has it
			if err != nil {
				t.Fatal(err)
			}
			ev, err := account.PoissonSampled(q, g)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 2} {
				p, err := account.NewPLD(account.ReplaceOne, account.Record())
				if err != nil {
					t.Fatal(err)
				}
				p.Compose(ev, n)
				i, err := p.Epsilon(1e-5)
				d, derr := p.Delta(0)
				least := q * math.Erf(1/z/math.Sqrt2)
				if err = errors.Join(err, derr); err != nil || d.Upper < least ||
					n == 1 && d.Lower > least*(1+1e-6) {
					t.Errorf("q %g z %g n %d: delta at 0 %v, want %v: %v", q, z, n, d, least, err)
				}
				// where x > 0 the density of the other mixture is below that of N(0)
				least = singleEpsilon(q, z, 1e-5)
				if z < .1 && !(i.Upper >= least && i.Lower <= i.Upper) {
					t.Errorf("q %g z %g n %d: epsilon %v, at least %v", q, z, n, i, least)
				}
			}
		}
	}
	r, err := account.Noise(account.DPSGD(account.ReplaceOne, .5, 1),
		account.Budget{Epsilon: 1000, Delta: 1e-5})
	if err != nil || singleEpsilon(.5, r.NoiseMultiplier, 1e-5) > 1000 { // it was .0005
		t.Errorf("noise for epsilon 1000: %+v, %v", r, err)
	}
}
