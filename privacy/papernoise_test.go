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

func paperNoise(t *testing.T, family string, epsilon, delta, sensitivity float64) privacy.Mechanism {
	t.Helper()
	m, err := privacy.New("published", func(p any) error {
		*p.(*privacy.PaperNoise) = privacy.PaperNoise{Family: family, Epsilon: epsilon, Delta: delta,
			Sensitivity: sensitivity}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
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
		m := paperNoise(t, family, .5, 1e-3, 1)
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
		worst := 0.
		for i, x := range v.Float {
			worst = max(worst, math.Abs(c.cdf(float64(x)/clip)-(float64(i)+.5)/n))
		}
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
	} {
		_, err := privacy.New("published", func(q any) error { *q.(*privacy.PaperNoise) = p; return nil })
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%+v: %v, want a config.Error on %s", p, err, key)
		}
	}
}
