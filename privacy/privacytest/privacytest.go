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
	// Half is the same mechanism with half the noise; the audit must be able to tell that
	// its claim would be false. nil for mechanisms without noise.
	Half privacy.Mechanism
	// Norm is that of the sensitivity; 0 stands for L2.
	Norm account.Norm
	// Scalar says that one release is one value, or that the coordinates of a vector
	// depend on each other.
	Scalar bool
	// Labels > 0 says that values are labels 0..Labels-1: the tests of additive noise are
	// left out.
	Labels int
	// Step is the grid of releases at clip 1; 0 stands for 2^-20.
	Step float64
	// CDF is the noise law of one coordinate in units of the clip; nil for mechanisms
	// without noise.
	CDF func(x float64) float64
	// Std is its standard deviation in units of the clip.
	Std float64
	// Epsilon says what one full-batch release must cost: finite, zero or infinite.
	Epsilon func(eps float64) bool
}

const draws = 40_000

// Run checks the event, the noise law, what the noise may depend on, and the claim
// against an attack. Each statistical test rejects a right mechanism with probability at
// most 1e-6, and is shown to reject one with half the noise.
func Run(t *testing.T, o Options) {
	if o.Norm == 0 {
		o.Norm = account.L2
	}
	if o.Step == 0 {
		o.Step = privacy.GridStep(1)
	}
	t.Run("event", func(t *testing.T) { event(t, o) })
	if o.Labels == 0 {
		t.Run("noise law", func(t *testing.T) { law(t, o) })
		t.Run("noise ignores the value", func(t *testing.T) { independent(t, o) })
		t.Run("exact integers", func(t *testing.T) { grid(t, o) })
	}
	if o.Half != nil {
		t.Run("claim holds against an attack", func(t *testing.T) { audit(t, o) })
	}
	if o.CDF != nil && o.Labels == 0 {
		t.Run("low bits", func(t *testing.T) { lowBits(t, o) })
	}
}

// Release is a full-batch release of dim values with the given clip in L2.
func Release(dim int, clip float64) account.Release {
	return account.Release{
		Oracle:    "test",
		Adjacency: account.AddRemove,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "value", Clip: clip, Shift: 1, Norm: account.L2, Dim: dim}},
		Scale:     1,
	}
}

func (o Options) release(dim int, clip float64) account.Release {
	r := Release(dim, clip)
	r.Parts[0].Norm = o.Norm
	if o.Labels > 0 {
		r.Adjacency = account.ReplaceOne // labels have no null record
	}
	return r
}

func (o Options) epsilon(t *testing.T, r account.Release, delta float64) float64 {
	t.Helper()
	ev, err := o.Mechanism.Event(r)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.New(account.Default, r.Adjacency, r.Unit)
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
	return i.Upper
}

func event(t *testing.T, o Options) {
	const delta = 1e-2
	one := o.release(1, 2)
	ev, err := o.Mechanism.Event(one)
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
	eps := o.epsilon(t, one, delta)
	if eps7 := o.epsilon(t, o.release(1, 7), delta); !o.Epsilon(eps) || eps != eps7 {
		t.Errorf("one release costs epsilon %g, at another clip %g", eps, eps7)
	}
	if o.Labels == 0 {
		twice := one
		twice.Parts = slices.Clone(one.Parts)
		twice.Parts[0].Shift = 2
		if eps2 := o.epsilon(t, twice, delta); eps2 < eps || eps2 == eps && eps > 0 && !math.IsInf(eps, 1) {
			t.Errorf("twice the sensitivity costs epsilon %g, once %g", eps2, eps)
		}
	}
	for _, bad := range []func(p *account.Part){
		func(p *account.Part) { p.Shift = math.NaN() },
		func(p *account.Part) { p.Clip = 0 },
		func(p *account.Part) { p.Dim = 0 },
	} {
		r := o.release(1, 1)
		bad(&r.Parts[0])
		if ev, err := o.Mechanism.Event(r); err == nil && o.CDF != nil {
			t.Errorf("release %+v got the event %s", r.Parts[0], ev.Key())
		}
	}
	_ = o.Mechanism.Provenance()
	if eps > 0 && !math.IsInf(eps, 1) {
		o.everyPart(t, eps, delta)
	}
}

// everyPart wants a second part to cost more, or to be refused. Where sums are rounded,
// rounding costs more too, and is refused where nothing bounds it.
func (o Options) everyPart(t *testing.T, eps, delta float64) {
	two := o.release(1, 2)
	second := two.Parts[0]
	second.Name = "second"
	two.Parts = append(two.Parts, second)
	if _, err := o.Mechanism.Event(two); err == nil {
		if both := o.epsilon(t, two, delta); !(both > eps) {
			t.Errorf("two parts cost epsilon %g, one %g", both, eps)
		}
	}
	if privacy.TakesIntegers(o.Mechanism) || o.CDF == nil { // integers are exact
		return
	}
	r := o.release(1, 2)
	r.Parts[0].SumError = math.Inf(1)
	if _, err := o.Mechanism.Event(r); err == nil {
		t.Error("a sum that rounds by an amount that nothing bounds has an event")
	}
	r.Parts[0].SumError = .5
	if _, err := o.Mechanism.Event(r); err == nil {
		if more := o.epsilon(t, r, delta); !(more > eps) {
			t.Errorf("rounding by half a clip costs epsilon %g, none %g", more, eps)
		}
	}
}

// perturb releases values, in one vector or, for scalar mechanisms, one at a time.
func perturb(o Options, m privacy.Mechanism, value tensor.Vec, clip float64, seq uint64) tensor.Vec {
	k := rng.Simulated(11, 0, seq)
	s := rng.NewStream(&k, rng.Noise)
	out := slices.Clone(value)
	width := len(out)
	if o.Scalar {
		width = 1
	}
	for lo := 0; lo < len(out); lo += width {
		v := privacy.Value{Float: out[lo : lo+width]}
		m.Perturb(&v, o.release(width, clip), privacy.Charge{Seq: seq, Noise: s})
	}
	return out
}

func law(t *testing.T, o Options) {
	for seq, clip := range []float64{3, .01} {
		noise := perturb(o, o.Mechanism, make(tensor.Vec, draws), clip, uint64(seq+1))
		if o.CDF == nil {
			if noise.Norm() != 0 {
				t.Error("a mechanism without noise changed the value")
			}
			return
		}
		x := make([]float64, draws)
		m1, m2, m4 := 0., 0., 0.
		for i, v := range noise {
			x[i] = float64(v) / clip
			s := x[i] / o.Std
			m1, m2, m4 = m1+s/draws, m2+s*s/draws, m4+s*s*s*s/draws
		}
		// Mean and second moment within 4.9 standard errors: false-reject rate 1e-6 each.
		if math.Abs(m1) > 4.9*math.Sqrt(m2/draws) {
			t.Errorf("clip %g: mean is %g standard deviations", clip, m1)
		}
		if se := math.Sqrt((m4 - m2*m2) / draws); math.Abs(m2-1) > 4.9*se {
			t.Errorf("clip %g: variance is %g of the stated one (standard error %g)", clip, m2, se)
		}
		slices.Sort(x)
		// Kolmogorov-Smirnov at a false-reject rate of 1e-6.
		if d := ks(x, 1, o.CDF); d > 2.694 {
			t.Errorf("clip %g: Kolmogorov-Smirnov statistic %g against the stated law", clip, d)
		}
		if d := ks(x, .5, o.CDF); d < 2.694 {
			t.Errorf("the test has no power: half the noise gives only %g", d)
		}
	}
}

// independent compares the noise on two values under one key: the same, but for the
// rounding to the grid.
func independent(t *testing.T, o Options) {
	a, b := make(tensor.Vec, 500), make(tensor.Vec, 500)
	for i := range b {
		b[i] = float32(i-250) / 256
	}
	x, y := perturb(o, o.Mechanism, a, 1, 5), perturb(o, o.Mechanism, b, 1, 5)
	for i := range x {
		if d := math.Abs(float64(y[i]) - float64(x[i]) - float64(b[i])); d >
			max(o.Step, 4e-6*(1+math.Abs(float64(x[i])))) {
			t.Fatalf("coordinate %d: noise differs by %g between two values", i, d)
		}
	}
	if o.CDF != nil && slices.Equal(x, perturb(o, o.Mechanism, a, 1, 6)) {
		t.Error("two charges have the same noise")
	}
}

// grid checks that an exact integer value and its float form are released alike.
func grid(t *testing.T, o Options) {
	for i, g := range []int64{0, 1 << 19, -3 << 18, 1 << 20, 1537, -1537} {
		k := rng.Simulated(11, 0, 9)
		v := privacy.Value{Float: make(tensor.Vec, 1), Grid: []int64{g}, Step: privacy.GridStep(1)}
		o.Mechanism.Perturb(&v, o.release(1, 1), privacy.Charge{Seq: 9, Noise: rng.NewStream(&k, rng.Noise)})
		want := perturb(o, o.Mechanism, tensor.Vec{float32(g) / (1 << 20)}, 1, 9)
		if !slices.Equal(v.Float, want) {
			t.Errorf("value %d: grid gives %v, float %v", i, v.Float, want)
		}
	}
}
