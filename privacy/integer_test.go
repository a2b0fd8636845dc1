package privacy_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// exactGradient is an oracle over a least-squares model that gives clipped gradients in
// integers.
type exactGradient struct {
	model model.Model
	batch model.Batch
	clip  float64
}

func newExactGradient(t testing.TB, clip float64, xs ...float32) *exactGradient {
	t.Helper()
	m, err := model.New("least-squares", model.Shape{Height: 1, Width: 3, Channels: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &exactGradient{model: m, clip: clip}
	g.batch.X = tensor.NewMat(len(xs)/3, 3)
	copy(g.batch.X.Data, xs)
	g.batch.Targets = make([]float32, len(xs)/3)
	return g
}

func (g *exactGradient) Describe(*agent.Query) (account.Release, error) {
	r := privacytest.Release(g.model.Dim(), g.clip)
	r.Scale = .25
	return r, nil
}

func (g *exactGradient) Evaluate(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
	g.model.ClippedGradientSum(dst.Float, q.At, &g.batch, g.clip, new(model.Workspace))
}

func (g *exactGradient) EvaluateGrid(dst []int64, q *agent.Query, _ *rng.Stream) {
	g.model.(model.GridModel).ClippedGradientGrid(dst, q.At, &g.batch, g.clip, privacy.GridStep(g.clip),
		new(model.Workspace))
}

// The whole path in integers: records to clipped integer vectors, their sum, integer
// noise, one conversion.
func TestExactPipeline(t *testing.T) {
	const clip, seed = .75, 3
	o := newExactGradient(t, clip, 1, 2, 3, -4, 5, .5, .1, 0, 0)
	m := privacy.DiscreteGaussian{NoiseMultiplier: 1.3}
	l := ledger.NewMemory(nil)
	g := privacy.NewSimulatedGate(l, m, map[string]privacy.Oracle{"grad": o}, seed, 7)
	at := tensor.Vec{.1, .2, -.3}
	dst := make(tensor.Vec, 3)
	if err := g.Answer(&agent.Query{Oracle: "grad", At: at}, dst); err != nil {
		t.Fatal(err)
	}
	sum := make([]int64, 3)
	o.EvaluateGrid(sum, &agent.Query{At: at}, nil)
	noise := make([]int64, 3)
	sampler, err := rng.NewDiscreteGaussian(8*uint64(math.Ceil(1.3*(1<<20)/8)), 1)
	if err != nil {
		t.Fatal(err)
	}
	key := rng.Simulated(seed, 7, 1)
	sampler.Fill(rng.NewStream(&key, rng.Noise), noise)
	for i := range dst {
		if want := float32(.25) * float32(float64(sum[i]+noise[i])*clip/(1<<20)); dst[i] != want {
			t.Errorf("coordinate %d: %g, want %g", i, dst[i], want)
		}
	}
	// The charge states integers: sensitivity 2^20 and sigma rounded up.
	for r, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		want, _ := account.DiscreteGaussian(1363152, 1<<20, 1<<20, 3) // 1.3 x 2^20 = 1363148.8
		want, err = privacytest.Release(3, clip).Sampled(want)
		if err != nil || !r.Event.Equal(want) {
			t.Errorf("charged %s, want %s (%v)", r.Event.Key(), want.Key(), err)
		}
	}
}

// One record more moves the integers by at most 2^20 in norm, exactly, for every record
// and point; the float path has no such bound, which is why it is refused.
func TestIntegerSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32()
		x := []float32{f.Draw(t, "x0"), f.Draw(t, "x1"), f.Draw(t, "x2")}
		clip := rapid.Float64Range(1e-6, 1e6).Draw(t, "clip")
		o := &exactGradient{clip: clip}
		m, err := model.New("least-squares", model.Shape{Height: 1, Width: 3, Channels: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.model = m
		o.batch.X, o.batch.Targets = tensor.NewMat(1, 3), make([]float32, 1)
		copy(o.batch.X.Data, x)
		dst := make([]int64, 3)
		o.EvaluateGrid(dst, &agent.Query{At: tensor.Vec{f.Draw(t, "t0"), 1, -1}}, nil)
		square := 0.
		for _, v := range dst {
			square += float64(v) * float64(v)
		}
		if square > 1<<40 {
			t.Fatalf("integer norm %g above 2^20", math.Sqrt(square))
		}
	})
}

func TestIntegerNoiseNeedsIntegers(t *testing.T) {
	for name, m := range map[string]privacy.Mechanism{
		"discrete-gaussian": privacy.DiscreteGaussian{NoiseMultiplier: 1},
		"truncated-laplace": build(t, "truncated-laplace",
			with(privacy.TruncatedParams{Scale: 1, Truncation: 8})),
	} {
		log := &[]string{}
		w := watched{Memory: ledger.NewMemory(nil), read: log}
		g := privacy.NewSimulatedGate(w, m,
			map[string]privacy.Oracle{"sum": sum{data: []float32{1}, read: log, dim: 1}}, 5, 2)
		if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}},
			make(tensor.Vec, 1)); !errors.Is(err, privacy.ErrRefused) {
			t.Errorf("%s on floating-point values: %v", name, err)
		}
		if len(*log) != 0 {
			t.Errorf("%s: a refused query was charged or read: %v", name, *log)
		}
	}
	// With Quantise the rounding is charged: a square root of the dimension in L2, the
	// dimension in L1.
	const dim = 900
	quantised := privacy.DiscreteGaussian{NoiseMultiplier: 2,
		Gridding: privacy.Gridding{Quantise: true, SummationError: .5}}
	ev, err := quantised.Event(privacytest.Release(dim, 3))
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.NewExactGaussian(account.AddRemove, account.Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ev, 1); err != nil {
		t.Fatal(err)
	}
	if want := (1.5*(1<<20) + 30.06) / math.Sqrt(4*(1<<40)-9); math.Abs(acc.Mu()/want-1) > 1e-12 ||
		acc.Mu() < want {
		t.Errorf("quantised release has mu %.15g, want %.15g", acc.Mu(), want)
	}
	g := privacy.NewSimulatedGate(ledger.NewMemory(nil), quantised,
		map[string]privacy.Oracle{"sum": sum{data: []float32{1}, read: &[]string{}, dim: 1}}, 5, 2)
	if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)); err != nil {
		t.Errorf("quantised values: %v", err)
	}
	if len(quantised.Assumptions()) != 1 || len((privacy.DiscreteGaussian{}).Assumptions()) != 0 {
		t.Error("only floating-point sums rest on an assumption")
	}
}

// Values beyond any range, infinities and NaN are released without overflow, as finite
// numbers.
func TestIntegerNoiseSaturates(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, m := range map[string]privacy.Mechanism{
		"discrete-gaussian": privacy.DiscreteGaussian{NoiseMultiplier: 1000,
			Gridding: privacy.Gridding{Quantise: true}},
		"laplace": privacy.Laplace{Scale: 1 << 20, Gridding: privacy.Gridding{Quantise: true}},
	} {
		k := rng.Simulated(1, 1, 1)
		v := privacy.Value{Float: tensor.Vec{inf, -inf, float32(math.NaN()), math.MaxFloat32}}
		m.Perturb(&v, privacytest.Release(4, 1), privacy.Charge{Noise: rng.NewStream(&k, rng.Noise)})
		for i, sign := range []float64{1, -1, 0, 1} {
			if x := float64(v.Float[i]); x-x != 0 || sign != 0 && math.Abs(x*sign/(1<<41)-1) > 1e-4 ||
				sign == 0 && math.Abs(x) > 1<<30 {
				t.Errorf("%s: coordinate %d is %g", name, i, x)
			}
		}
		v = privacy.Value{Float: make(tensor.Vec, 2), Grid: []int64{math.MaxInt64, math.MinInt64},
			Step: privacy.GridStep(1)}
		m.Perturb(&v, privacytest.Release(2, 1), privacy.Charge{Noise: rng.NewStream(&k, rng.Noise)})
		if v.Float[0] < 1<<40 || v.Float[1] > -1<<40 {
			t.Errorf("%s: extreme integers became %v", name, v.Float)
		}
	}
}

// The integer mechanisms cost at least what their continuous limits cost, and no more
// than a hair above.
func TestIntegerEventsAreConservative(t *testing.T) {
	eps := func(m privacy.Mechanism, r account.Release) float64 {
		ev, err := m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := account.New("rdp", r.Adjacency, r.Unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 3); err != nil {
			t.Fatal(err)
		}
		i, err := acc.Epsilon(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return i.Upper
	}
	r := privacytest.Release(1000, 2)
	exact, fast := eps(privacy.DiscreteGaussian{NoiseMultiplier: 4}, r),
		eps(privacy.Gaussian{NoiseMultiplier: 4}, r)
	if math.Abs(exact/fast-1) > 1e-9 {
		t.Errorf("discrete Gaussian costs %g, Gaussian %g", exact, fast)
	}
	// One release of Laplace noise costs exactly sensitivity/scale, rounded up.
	r.Parts[0].Norm = account.L1
	r.Parts[0].Shift = 2
	ev, err := privacy.Laplace{Scale: 3}.Event(r)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.New("kov", r.Adjacency, r.Unit)
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ev, 1); err != nil {
		t.Fatal(err)
	}
	if i, err := acc.Epsilon(0); err != nil || i.Upper < 2./3 || i.Upper > 2./3+1e-11 {
		t.Errorf("Laplace noise of scale 3 on sensitivity 2 costs %v (%v), want 2/3", i, err)
	}
}

// Rounding to whole cells can move two values one cell further apart: quantised bounded
// noise costs more.
func TestQuantisedTruncationCostsMore(t *testing.T) {
	var delta [2]float64
	for i, quantise := range []bool{false, true} {
		m := build(t, "truncated-laplace",
			with(privacy.TruncatedParams{Scale: 8, Truncation: 60,
				Gridding: privacy.Gridding{Quantise: quantise}}))
		ev, err := m.Event(privacytest.Release(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		acc, err := account.NewPLD(account.AddRemove, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 1); err != nil {
			t.Fatal(err)
		}
		d, err := acc.Delta(0)
		if err != nil {
			t.Fatal(err)
		}
		delta[i] = d.Upper
	}
	// One cell of 1/256 clip more: delta(0) = 1 - exp(-shift/(2 scale)) grows by 1/256 of
	// itself.
	if r := delta[1] / delta[0]; r < 1.003 || r > 1.0045 {
		t.Errorf("quantised noise has %g times the delta", r)
	}
}

// Sampled releases of every mechanism that has a proof for them are accounted, the others
// refused.
func TestSampledEvents(t *testing.T) {
	for name, supported := range map[string]bool{"gaussian": true, "discrete-gaussian": true, "laplace": true,
		"k-norm": true} {
		m, err := privacy.NewMechanism(name, 2)
		if err != nil {
			t.Fatal(err)
		}
		r := privacytest.Release(1, 1)
		r.Sampler = account.Sampler{Kind: account.Poisson, SampleRate: .1}
		if name == "laplace" {
			r.Parts[0].Norm = account.L1
		}
		ev, err := m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := account.New(account.Default, r.Adjacency, r.Unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 1); (err == nil) != supported ||
			err != nil && !errors.Is(err, account.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadParameters(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name, key string
		decode    func(any) error
	}{
		{"gaussian", "noise_multiplier", with(privacy.Gaussian{NoiseMultiplier: nan})},
		{"gaussian", "part_noise.count",
			with(privacy.Gaussian{NoiseMultiplier: 1, PartNoise: map[string]float64{"count": -1}})},
		{"discrete-gaussian", "noise_multiplier", nil},
		{"discrete-gaussian", "noise_multiplier", with(privacy.DiscreteGaussian{NoiseMultiplier: 1025})},
		{"discrete-gaussian", "noise_multiplier", with(privacy.DiscreteGaussian{NoiseMultiplier: 1e-5})},
		{"discrete-gaussian", "part_noise",
			with(privacy.DiscreteGaussian{NoiseMultiplier: 1, PartNoise: map[string]float64{"count": 1e5}})},
		{"discrete-gaussian", "summation_error",
			with(privacy.DiscreteGaussian{NoiseMultiplier: 1,
				Gridding: privacy.Gridding{SummationError: .1}})},
		{"laplace", "scale", with(privacy.Laplace{Scale: inf})},
		{"laplace", "scale", with(privacy.Laplace{Scale: 1e-7})},
		{"laplace", "summation_error",
			with(privacy.Laplace{Scale: 1, Gridding: privacy.Gridding{Quantise: true, SummationError: nan}})},
		{"k-norm", "scale", with(privacy.KNorm{Scale: -1})},
		{"truncated-laplace", "scale", with(privacy.TruncatedParams{Truncation: 5})},
		{"truncated-laplace", "truncation", with(privacy.TruncatedParams{Scale: 1, Truncation: 61})},
		{"truncated-gaussian", "truncation", with(privacy.TruncatedParams{Scale: 1, Truncation: 12.1})},
		{"truncated-gaussian", "truncation", with(privacy.TruncatedParams{Scale: 1})},
		{"truncated-gaussian", "truncation", with(privacy.TruncatedParams{Scale: 1000, Truncation: 8193})},
		{"randomized-response", "probability", with(privacy.RandomizedResponse{Labels: 2})},
		{"randomized-response", "probability", with(privacy.RandomizedResponse{Probability: 1.1, Labels: 2})},
		{"randomized-response", "labels", with(privacy.RandomizedResponse{Probability: .1, Labels: 1})},
	} {
		var e *config.Error
		if m, err := privacy.New(c.name, c.decode); !errors.As(err, &e) || e.Key != c.key || e.Allowed == "" {
			t.Errorf("%s %s: mechanism %+v, error %v", c.name, c.key, m, err)
		}
	}
	broken := errors.New("line 3")
	for name := range privacy.Mechanisms {
		if name == "none" || name == "sealed" || name == "released" {
			continue
		}
		if _, err := privacy.New(name, func(any) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%s ignored the decoder's error: %v", name, err)
		}
	}
}

// A sensitivity in the wrong norm, or a shape without a proof, gets no event.
func TestEventsRefuse(t *testing.T) {
	l1, vector, joint := privacytest.Release(1, 1), privacytest.Release(2, 1), privacytest.Release(1, 1)
	l1.Parts[0].Norm = account.L1
	joint.Parts = append(joint.Parts, joint.Parts[0])
	wide := privacytest.Release(1, 1)
	wide.Parts[0].Shift = 1e4
	truncated := build(t, "truncated-laplace", with(privacy.TruncatedParams{Scale: 1, Truncation: 8}))
	for name, c := range map[string]struct {
		m   privacy.Mechanism
		r   account.Release
		key string
	}{
		"gaussian in L1":          {privacy.Gaussian{NoiseMultiplier: 1}, l1, "norm"},
		"discrete gaussian in L1": {privacy.DiscreteGaussian{NoiseMultiplier: 1}, l1, "norm"},
		"laplace in L2":           {privacy.Laplace{Scale: 1}, vector, "norm"},
		"k-norm in L1":            {privacy.KNorm{Scale: 1}, l1, "norm"},
		"response in L2":          {privacy.RandomizedResponse{Probability: .5, Labels: 2}, vector, "norm"},
		"truncated vector":        {truncated, vector, "dim"},
		"truncated joint":         {truncated, joint, "dim"},
		"truncated far apart":     {truncated, wide, "scale"},
		"truncated zero value":    {privacy.Truncated{}, l1, "mechanism"},
		"discrete zero value":     {privacy.DiscreteGaussian{}, vector, "noise_multiplier"},
		"noise for no part": {privacy.Gaussian{NoiseMultiplier: 1,
			PartNoise: map[string]float64{"count": 1}}, vector, "part_noise"},
	} {
		var e *config.Error
		if ev, err := c.m.Event(c.r); !errors.As(err, &e) || e.Key != c.key {
			t.Errorf("%s: event %s, error %v", name, ev.Key(), err)
		}
	}
}

func TestNewMechanismKeepsItsName(t *testing.T) {
	for name := range privacy.Mechanisms {
		_, err := privacy.NewMechanism(name, .5)
		var e *config.Error
		needsMore := slices.Contains([]string{"truncated-laplace", "truncated-gaussian",
			"randomized-response", "published"}, name)
		if needsMore != (err != nil) || err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A plan in a mechanism's own events meets its target with the least noise: that of the
// Gaussian plan, and what the rounding of a quantised vector adds.
func TestPlanStep(t *testing.T) {
	r := privacytest.Release(10_000, 1)
	r.Sampler = account.Sampler{Kind: account.Poisson, SampleRate: .5}
	target := account.Budget{Epsilon: 2, Delta: 1e-5}
	noise := map[string]float64{}
	for name, build := range map[string]func(z float64) (privacy.Mechanism, error){
		"gaussian": privacy.NewGaussian,
		"discrete-gaussian": func(z float64) (privacy.Mechanism, error) {
			grid := privacy.Gridding{Quantise: true}
			return privacy.DiscreteGaussian{NoiseMultiplier: z, Gridding: grid}, nil
		},
	} {
		plan := account.Plan{
			Accountant: "rdp",
			Adjacency:  r.Adjacency,
			Unit:       r.Unit,
			SampleRate: .02,
			Steps:      []account.PlanStep{privacy.PlanStep(build, r, 100)},
		}
		res, err := account.Noise(plan, target)
		if err != nil {
			t.Fatal(err)
		}
		if res.Epsilon.Upper > target.Epsilon || res.Epsilon.Upper < target.Epsilon*(1-1e-4) {
			t.Errorf("%s: noise multiplier %g gives epsilon %g", name, res.NoiseMultiplier, res.Epsilon.Upper)
		}
		noise[name] = res.NoiseMultiplier
	}
	if ratio, want := noise["discrete-gaussian"]/noise["gaussian"],
		1+100.2/(1<<20); math.Abs(ratio-want) > 1e-5 {
		t.Errorf("integer noise is %.7g times the Gaussian one, want %.7g", ratio, want)
	}
	broken := errors.New("no such noise")
	step := privacy.PlanStep(func(float64) (privacy.Mechanism, error) { return nil, broken }, r, 1)
	if _, err := step.Event(1, 1); !errors.Is(err, broken) {
		t.Errorf("the builder's error became %v", err)
	}
}
