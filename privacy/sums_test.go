package privacy_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// What rounding adds to a sum's movement is part of the shift of every mechanism that is
// handed floating-point values; mechanisms that take integers leave it out.
func TestSumErrorIsCharged(t *testing.T) {
	const z, e = 2., .25
	quantised := privacy.Gridding{Quantise: true}
	gaussian := func(g privacy.Gridding) privacy.Mechanism {
		return privacy.DiscreteGaussian{NoiseMultiplier: z, Gridding: g}
	}
	for name, c := range map[string]struct {
		m    privacy.Mechanism
		norm account.Norm
		want float64 // mu, or epsilon for L1
	}{
		"gaussian": {privacy.Gaussian{NoiseMultiplier: z}, account.L2, (1 + e) / z},
		"gaussian with noise of its own for the part": {privacy.Gaussian{NoiseMultiplier: 9,
			PartNoise: map[string]float64{"value": z}}, account.L2, (1 + e) / z},
		"integers":          {gaussian(privacy.Gridding{}), account.L2, 1 / z},
		"quantised":         {gaussian(quantised), account.L2, (1 + e) / z},
		"quantised laplace": {privacy.Laplace{Scale: z, Gridding: quantised}, account.L1, (1 + e) / z},
		"laplace":           {privacy.Laplace{Scale: z}, account.L1, 1 / z},
		"k-norm":            {privacy.KNorm{Scale: z}, account.L2, (1 + e) / z},
	} {
		r := privacytest.Release(1, 3)
		r.Parts[0].Norm, r.Parts[0].SumError = c.norm, e
		ev, err := c.m.Event(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		acc, err := account.New("pld", r.Adjacency, r.Unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 1); err != nil {
			t.Fatal(err)
		}
		delta := 0.
		want := c.want
		if c.norm == account.L2 && name != "k-norm" {
			delta, want = 1e-5, gaussianEpsilon(c.want, 1e-5)
		}
		got, err := acc.Epsilon(delta)
		if err != nil || !(got.Upper >= want*(1-1e-9)) || got.Upper > want*(1+1e-4) {
			t.Errorf("%s: epsilon %v, want %g: %v", name, got, want, err)
		}
	}
}

// gaussianEpsilon inverts delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle,
// Wang 2018) by bisection.
func gaussianEpsilon(mu, delta float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	lo, hi := 0., 100.
	for range 200 {
		mid := (lo + hi) / 2
		if phi(mu/2-mid/mu)-math.Exp(mid)*phi(-mu/2-mid/mu) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// Sums whose rounding nobody has bounded are refused, but where integers are summed.
func TestUnboundedSumsAreRefused(t *testing.T) {
	type release struct {
		norm      account.Norm
		sumError  float64
		uncharged bool
	}
	quantised := privacy.Gridding{Quantise: true}
	discrete := func(g privacy.Gridding) privacy.Mechanism {
		return privacy.DiscreteGaussian{NoiseMultiplier: 2, Gridding: g}
	}
	laplace := func(g privacy.Gridding) privacy.Mechanism { return privacy.Laplace{Scale: 2, Gridding: g} }
	normal, none := privacy.Gaussian{NoiseMultiplier: 2}, math.Inf(1)
	for name, c := range map[string]struct {
		m privacy.Mechanism
		release
		key string // "" where the release is admitted
	}{
		"no bound":            {normal, release{account.L2, none, false}, "noise"},
		"no bound, k-norm":    {privacy.KNorm{Scale: 2}, release{account.L2, none, false}, "noise"},
		"no bound, quantised": {laplace(quantised), release{account.L1, none, false}, "noise"},
		"no bound, integers":  {laplace(privacy.Gridding{}), release{account.L1, none, false}, ""},
		"nothing assumed":     {laplace(quantised), release{account.L1, 0, true}, "summation_error"},
		"nothing assumed, L2": {discrete(quantised), release{account.L2, 0, true}, "summation_error"},
		"assumed": {discrete(privacy.Gridding{Quantise: true, SummationError: .1}),
			release{account.L2, 0, true}, ""},
		"charged":      {discrete(quantised), release{account.L2, .1, false}, ""},
		"uncharged":    {normal, release{account.L2, 0, true}, ""},
		"not a number": {normal, release{account.L2, math.NaN(), false}, "parts[0].sum_error"},
		"negative":     {normal, release{account.L2, -1, false}, "parts[0].sum_error"},
	} {
		r := privacytest.Release(1, 3)
		r.Parts[0].Norm, r.Parts[0].SumError, r.SumsUncharged = c.norm, c.sumError, c.uncharged
		_, err := c.m.Event(r)
		var e *config.Error
		if (c.key == "") != (err == nil) || err != nil && (!errors.As(err, &e) || e.Key != c.key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a mechanism refuses of a release it refuses also after it took the same release
// with charged sums, or another scale.
func TestRefusalsAreNotForgotten(t *testing.T) {
	r := privacytest.Release(1, 1)
	o := &described{Release: r}
	g := privacy.NewGate(ledger.NewMemory(nil), privacy.DiscreteGaussian{NoiseMultiplier: 1,
		Gridding: privacy.Gridding{Quantise: true}}, map[string]privacy.Oracle{"value": o})
	for name, change := range map[string]func(r *account.Release){
		"sums":  func(r *account.Release) { r.SumsUncharged = true },
		"scale": func(r *account.Release) { r.Scale = 1e30 },
	} {
		q := &agent.Query{Oracle: "value"}
		if o.Release = r; g.Answer(q, make(tensor.Vec, 1)) != nil {
			t.Fatal("the release is refused")
		}
		if change(&o.Release); g.Answer(q, make(tensor.Vec, 1)) == nil {
			t.Errorf("%s: an answer", name)
		}
	}
}

// described is an oracle of value 0 with any release.
type described struct{ account.Release }

func (d *described) Describe(*agent.Query) (account.Release, error) { return d.Release, nil }

func (d *described) Evaluate(*privacy.Value, *agent.Query, *rng.Stream) {}
