// Package privacytest is the conformance suite of privacy mechanisms.
package privacytest

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// Options describes the mechanism under test.
type Options struct {
	Mechanism privacy.Mechanism
	// CDF is the noise law of one coordinate in units of the clip; nil for mechanisms without noise.
	CDF func(x float64) float64
	// Std is its standard deviation in units of the clip.
	Std float64
	// Epsilon says what one full-batch release must cost: finite, zero or infinite.
	Epsilon func(eps float64) bool
}

const draws = 40_000

// Run checks the event, the noise law and what the noise may depend on. Each statistical test rejects a
// right mechanism with probability at most 1e-6, and is shown to reject one with half the scale.
func Run(t *testing.T, o Options) {
	t.Run("event", func(t *testing.T) { event(t, o) })
	t.Run("noise law", func(t *testing.T) { law(t, o) })
	t.Run("noise ignores the value", func(t *testing.T) { independent(t, o) })
	t.Run("exact integers", func(t *testing.T) { grid(t, o) })
}

// Release is a full-batch release of dim values with the given clip.
func Release(dim int, clip float64) account.Release {
	return account.Release{Oracle: "test", Adjacency: account.AddRemove, Unit: account.Record(), Sampler: account.Sampler{Kind: account.FullBatch},
		Parts: []account.Part{{Name: "value", Clip: clip, Shift: 1, Norm: account.L2, Dim: dim}}, Scale: 1}
}

func event(t *testing.T, o Options) {
	ev, err := o.Mechanism.Event(Release(3, 2))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var back account.Event
	if err := json.Unmarshal(b, &back); err != nil || !back.Equal(ev) {
		t.Errorf("event %s reads back as %v, %v", b, back, err)
	}
	other, err := o.Mechanism.Event(Release(3, 7))
	if err != nil {
		t.Fatal(err)
	}
	if eps, eps7 := epsilon(t, ev), epsilon(t, other); !o.Epsilon(eps) || eps != eps7 {
		t.Errorf("one release costs epsilon %g, at another clip %g", eps, eps7)
	}
}

func epsilon(t *testing.T, ev account.Event) float64 {
	t.Helper()
	acc, err := account.New(account.Default, account.AddRemove, account.Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ev, 1); err != nil {
		t.Fatal(err)
	}
	i, err := acc.Epsilon(1e-5)
	if err != nil {
		t.Fatal(err)
	}
	return i.Upper
}

func perturb(o Options, value tensor.Vec, clip float64, seq uint64) tensor.Vec {
	k := rng.Simulated(11, 0, seq)
	v := privacy.Value{Float: slices.Clone(value)}
	o.Mechanism.Perturb(&v, Release(len(value), clip), privacy.Charge{Seq: seq, Noise: rng.NewStream(&k, rng.Noise)})
	return v.Float
}

func law(t *testing.T, o Options) {
	const clip = 3
	noise := perturb(o, make(tensor.Vec, draws), clip, 1)
	if o.CDF == nil {
		if noise.Norm() != 0 {
			t.Error("a mechanism without noise changed the value")
		}
		return
	}
	x := make([]float64, draws)
	m2, m4 := 0., 0.
	for i, v := range noise {
		x[i] = float64(v) / clip
		s := x[i] / o.Std
		m2, m4 = m2+s*s/draws, m4+s*s*s*s/draws
	}
	// Second moment within 4.9 standard errors: false-reject rate 1e-6.
	if se := math.Sqrt((m4 - m2*m2) / draws); math.Abs(m2-1) > 4.9*se {
		t.Errorf("variance is %g of the stated one (standard error %g)", m2, se)
	}
	slices.Sort(x)
	// Kolmogorov-Smirnov at a false-reject rate of 1e-6.
	if d := ks(x, 1, o.CDF); d > 2.694 {
		t.Errorf("Kolmogorov-Smirnov statistic %g against the stated law", d)
	}
	if d := ks(x, .5, o.CDF); d < 2.694 {
		t.Errorf("the test has no power: half the noise gives only %g", d)
	}
}

func ks(x []float64, scale float64, cdf func(float64) float64) float64 {
	d := 0.
	for i, v := range x {
		c := cdf(v * scale)
		d = max(d, c-float64(i)/draws, float64(i+1)/draws-c)
	}
	return d * math.Sqrt(draws)
}

// independent compares the noise on two values under one key: the same, but for the rounding to the grid.
func independent(t *testing.T, o Options) {
	a, b := make(tensor.Vec, 500), make(tensor.Vec, 500)
	for i := range b {
		b[i] = float32(i-250) / 256
	}
	x, y := perturb(o, a, 1, 5), perturb(o, b, 1, 5)
	for i := range x {
		if d := math.Abs(float64(y[i]) - float64(x[i]) - float64(b[i])); d > 4e-6*(1+math.Abs(float64(x[i]))) {
			t.Fatalf("coordinate %d: noise differs by %g between two values", i, d)
		}
	}
	if o.CDF != nil && slices.Equal(x, perturb(o, a, 1, 6)) {
		t.Error("two charges have the same noise")
	}
}

// grid checks that an exact integer value and its float form are released alike.
func grid(t *testing.T, o Options) {
	k := rng.Simulated(11, 0, 9)
	const step = 1. / (1 << 20)
	v := privacy.Value{Float: make(tensor.Vec, 4), Grid: []int64{0, 1 << 19, -3 << 18, 1 << 20}, Step: step}
	o.Mechanism.Perturb(&v, Release(4, 1), privacy.Charge{Seq: 9, Noise: rng.NewStream(&k, rng.Noise)})
	want := perturb(o, tensor.Vec{0, .5, -.75, 1}, 1, 9)
	if !slices.Equal(v.Float, want) {
		t.Errorf("grid value gives %v, float value %v", v.Float, want)
	}
}
