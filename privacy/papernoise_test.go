package privacy_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

func paperNoise(t *testing.T, family string, epsilon, delta, sensitivity,
	shape float64) privacy.Mechanism {
	t.Helper()
	m, err := privacy.New("published", func(p any) error {
		*p.(*privacy.PaperNoise) = privacy.PaperNoise{Family: family, Epsilon: epsilon, Delta: delta,
			Sensitivity: sensitivity, Shape: shape}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// residuals is a release of n values and noise of m on zeros, ascending.
func residuals(m privacy.Mechanism, n int, clip float64) (account.Release, privacy.Value) {
	r := account.Release{
		Oracle:    "km-stateful",
		Adjacency: account.ReplaceOne,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "residual", Clip: clip, Shift: 2, Norm: account.L2, Dim: n}},
		Scale:     1,
	}
	v := privacy.Value{Float: make(tensor.Vec, n)}
	k := rng.Simulated(3, 0, 1)
	m.Perturb(&v, r, privacy.Charge{Noise: rng.NewStream(&k, rng.Noise)})
	slices.Sort(v.Float)
	return r, v
}

// apart is Kolmogorov and Smirnov's statistic of ascending values over the clip.
func apart(v tensor.Vec, clip float64, cdf func(x float64) float64) float64 {
	worst, n := 0., float64(len(v))
	for i, x := range v {
		worst = max(worst, math.Abs(cdf(float64(x)/clip)-(float64(i)+.5)/n))
	}
	return worst
}

// The noise of Eq. 3 has its law for shapes b below, at, between and above those of the
// two published cases: 20,000 draws against the density, integrated by Simpson's rule, by
// Kolmogorov and Smirnov's statistic, which exceeds 2.7/√n with probability 1e-6. s is Δ
// ε^(-1/b), and A leaves the mass δ within Δ of it. At b = 1 that is Definition 6, at 2
// Theorem 6.
func TestGeneralizedNoiseLaw(t *testing.T) {
	const n, clip, eps, delta = 20_000, .5, .5, 1e-3
	for _, b := range []float64{.5, 1, 1.5, 2, 3, 8} {
		m := paperNoise(t, "truncated-generalized", eps, delta, 2, b).(privacy.PaperNoise)
		s, a := m.Law()
		if want := 2 * math.Pow(eps, -1/b); math.Abs(s/want-1) > 1e-12 {
			t.Errorf("b = %g: scale %g, want %g", b, s, want)
		}
		if want := map[float64]float64{1: 4 * math.Log(1+(math.Exp(.5)-1)/.002), 2: 2 * 4.084}[b]; want > 0 &&
			math.Abs(a/want-1) > 1e-4 {
			t.Errorf("b = %g: bound %g, want %g", b, a, want)
		}
		const cells = 1 << 16
		sums := make([]float64, cells+1) // of the density on [0, A], in places that are dense near 0
		place := func(x float64) float64 { return a * x * x * x }
		density := func(x float64) float64 { // over dx
			return math.Exp(-math.Pow(place(x)/s, b)) * 3 * a * x * x
		}
		for i := range cells {
			lo, hi := float64(i)/cells, float64(i+1)/cells
			sums[i+1] = sums[i] + (density(lo)+4*density((lo+hi)/2)+density(hi))/6/cells
		}
		half := func(z float64) float64 {
			return sums[int(math.Round(cells*math.Cbrt(z/a)))] / sums[cells] / 2
		}
		if strip := .5 - half(math.Abs(a-2)); a > 2 && math.Abs(strip/delta-1) > .01 {
			t.Errorf("b = %g: the strip of length Δ holds %g, want %g", b, strip, delta)
		}
		_, v := residuals(m, n, clip)
		if x := apart(v.Float, clip, func(x float64) float64 {
			return .5 + math.Copysign(half(min(math.Abs(x), a)), x)
		}); x > 2.7/math.Sqrt(n) {
			t.Errorf("b = %g: distribution functions are %g apart", b, x)
		}
		if last := float64(v.Float[n-1]) / clip; last > a*(1+1e-6) {
			t.Errorf("b = %g: noise of %g beyond %g", b, last, a)
		}
	}
}

// The noise has the published laws: 20,000 draws against their distribution functions by
// Kolmogorov and Smirnov's statistic, which exceeds 2.7/√n with probability 1e-6.
// Truncations at (.5, 1e-3) are 4.084 Δ (normal; claims ledger C29) and 2 ln(1 + (e^.5 -
// 1)/.002) Δ.
func TestPublishedNoiseLaws(t *testing.T) {
	const n, clip = 20_000, .5
	erfIn := func(x, a, s float64) float64 { return (math.Erf(x/s) + math.Erf(a/s)) / (2 * math.Erf(a/s)) }
	laplaceIn := func(x, a, b float64) float64 {
		size := math.Expm1(-math.Abs(x)/b) / math.Expm1(-a/b) / 2
		return .5 + math.Copysign(size, x)
	}
	laplaceA := 2 * math.Log(1+(math.Exp(.5)-1)/.002)
	for family, c := range map[string]struct {
		cdf   func(x float64) float64
		bound float64
	}{
		"laplace": {func(x float64) float64 { return laplaceIn(x, 1e9, 2) }, math.Inf(1)},
		"gaussian": {func(x float64) float64 {
			return .5 * math.Erfc(-x/math.Sqrt2/(2*math.Sqrt(2*math.Log(1250))))
		}, math.Inf(1)},
		"truncated-laplace":  {func(x float64) float64 { return laplaceIn(x, laplaceA, 2) }, laplaceA},
		"truncated-gaussian": {func(x float64) float64 { return erfIn(x, 4.084, math.Sqrt2) }, 4.0845},
	} {
		m := paperNoise(t, family, .5, 1e-3, 1, 0)
		r, v := residuals(m, n, clip)
		worst := apart(v.Float, clip, c.cdf)
		if worst > 2.7/math.Sqrt(n) {
			t.Errorf("%s: distribution functions are %g apart", family, worst)
		}
		if last := float64(v.Float[n-1]) / clip; last > c.bound*(1+1e-6) {
			t.Errorf("%s: noise of %g beyond %g", family, last, c.bound)
		}
		ev, err := m.Event(r)
		if err != nil || m.Provenance() != privacy.Claimed {
			t.Fatalf("%v, %v", err, m.Provenance())
		}
		acc, err := account.New("pld", account.ReplaceOne, account.Record())
		if err == nil {
			err = acc.Compose(ev, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if eps, err := acc.Epsilon(1e-3); err != nil || !math.IsInf(eps.Upper, 1) ||
			!math.IsInf(eps.Lower, 1) {
			t.Errorf("%s: epsilon %v, %v; want infinity", family, eps, err)
		}
	}
	for key, p := range map[string]privacy.PaperNoise{
		"family": {}, "epsilon": {Family: "laplace"}, "delta": {Family: "laplace", Epsilon: 1},
		"sensitivity": {Family: "laplace", Epsilon: 1, Delta: .1},
		"shape":       {Family: "truncated-generalized", Epsilon: 1, Delta: .1, Shape: .2},
	} {
		_, err := privacy.New("published", func(q any) error { *q.(*privacy.PaperNoise) = p; return nil })
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%+v: %v, want a config.Error on %s", p, err, key)
		}
	}
}
