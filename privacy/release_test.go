package privacy_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// joint is an oracle that releases a vector and a count of one batch together, with clips
// of their own, and whose vector clip follows the query: the noise stays that of clip 2
// while the sensitivity is the query's.
type joint struct{ dim int }

func (j joint) Describe(q *agent.Query) (account.Release, error) {
	shift := 1.
	if q.Clip > 0 {
		shift = q.Clip / 2
	}
	return account.Release{Oracle: "joint", Adjacency: account.AddRemove, Unit: account.Record(),
		Sampler: account.Sampler{Kind: account.Poisson, SampleRate: .1},
		Parts: []account.Part{
			{Name: "gradient", Clip: 2, Shift: shift, Norm: account.L2, Dim: j.dim},
			{Name: "count", Clip: .5, Shift: 1, Norm: account.L2, Dim: j.dim}, // many of them, for statistics
		}, Scale: 1}, nil
}

func (j joint) Evaluate(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
	for i := range j.dim {
		dst.Float[i], dst.Float[j.dim+i] = 1, .25
	}
}

func (j joint) EvaluateGrid(dst []int64, q *agent.Query, _ *rng.Stream) {
	for i := range j.dim { // 1 in steps of 2 x 2^-20 and .25 in steps of .5 x 2^-20: both half their clips
		dst[i], dst[j.dim+i] = 1<<19, 1<<19
	}
}

// One charge pays for both parts: 1/s^2 = 1/s_gradient^2 + 1/s_count^2 (Andrew et al.
// 2021), and each part has its own noise.
func TestJointRelease(t *testing.T) {
	const dim, z, zCount = 20_000, 1.5, 4.
	noise := map[string]float64{"count": zCount}
	mu := math.Hypot(1/z, 1/zCount)
	for name, m := range map[string]privacy.Mechanism{
		"gaussian":          privacy.Gaussian{NoiseMultiplier: z, PartNoise: noise},
		"discrete-gaussian": privacy.DiscreteGaussian{NoiseMultiplier: z, PartNoise: noise},
		"quantised": privacy.DiscreteGaussian{NoiseMultiplier: z, PartNoise: noise,
			Gridding: privacy.Gridding{Quantise: true}},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger.NewMemory(nil)
			g := privacy.NewSimulatedGate(l, m, map[string]privacy.Oracle{"joint": joint{dim}}, 1, 1)
			dst := make(tensor.Vec, 2*dim)
			q := &agent.Query{Oracle: "joint"}
			if err := g.Answer(q, dst); err != nil {
				t.Fatal(err)
			}
			if l.Head().Seq != 1 {
				t.Errorf("%d charges for one joint answer", l.Head().Seq)
			}
			r, ev, err := g.Describe(q)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := account.Gaussian(1/mu, 1)
			if err != nil {
				t.Fatal(err)
			}
			if plain, err = r.Sampled(plain); err != nil {
				t.Fatal(err)
			}
			tol := 1e-9
			if name == "quantised" {
				tol = 1e-3 // the rounding of 20,000 coordinates
			}
			if got, want := rdp(t, ev), rdp(t, plain); got < want*(1-1e-12) || got > want*(1+tol) {
				t.Errorf("joint release has Renyi divergence %g, one Gaussian of the combined multiplier %g",
					got, want)
			}
			for part, c := range map[int]struct{ mean, std float64 }{0: {1, 2 * z}, 1: {.25, .5 * zCount}} {
				x := make([]float64, dim)
				for i := range x {
					x[i] = (float64(dst[part*dim+i]) - c.mean) / c.std
				}
				slices.Sort(x)
				if d := privacytest.KS(x, distuv.UnitNormal.CDF); d > 2.694 { // false-reject rate 1e-6
					t.Errorf("part %d: Kolmogorov-Smirnov statistic %g", part, d)
				}
			}
		})
	}
}

// Parts that share one noise multiplier cost one event of their combined sensitivity: a
// root of squares for L2, a sum for L1.
func TestJointSensitivity(t *testing.T) {
	gridding := privacy.Gridding{Quantise: true}
	for name, c := range map[string]struct {
		m     privacy.Mechanism
		norm  account.Norm
		shift float64 // of one part that costs the same
	}{
		"gaussian":          {privacy.Gaussian{NoiseMultiplier: 6}, account.L2, 5},
		"discrete-gaussian": {privacy.DiscreteGaussian{NoiseMultiplier: 6}, account.L2, 5},
		"quantised discrete-gaussian": {privacy.DiscreteGaussian{NoiseMultiplier: 6, Gridding: gridding},
			account.L2, 5},
		"k-norm":            {privacy.KNorm{Scale: 6}, account.L2, 5},
		"laplace":           {privacy.Laplace{Scale: 6}, account.L1, 7},
		"quantised laplace": {privacy.Laplace{Scale: 6, Gridding: gridding}, account.L1, 7},
	} {
		r := privacytest.Release(1, 1)
		r.Parts = []account.Part{{Name: "a", Clip: 1, Shift: 3, Norm: c.norm, Dim: 2},
			{Name: "b", Clip: 9, Shift: 4, Norm: c.norm, Dim: 3}}
		together, err := c.m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Parts = []account.Part{{Name: "a", Clip: 1, Shift: c.shift, Norm: c.norm, Dim: 5}}
		alone, err := c.m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := rdp(t, together), rdp(t, alone); math.Abs(a/b-1) > 1e-5 {
			t.Errorf("%s: parts together cost %g, one part of their sensitivity %g", name, a, b)
		}
	}
}

// An integer value without noise is read in the step of each part.
func TestNoneReadsIntegers(t *testing.T) {
	r, _ := joint{2}.Describe(&agent.Query{})
	v := privacy.Value{Float: make(tensor.Vec, 4), Grid: make([]int64, 4), Step: privacy.GridStep(2)}
	joint{2}.EvaluateGrid(v.Grid, nil, nil)
	privacy.None{}.Perturb(&v, r, privacy.Charge{})
	if want := (tensor.Vec{1, 1, .25, .25}); !slices.Equal(v.Float, want) {
		t.Errorf("integers read as %v, want %v", v.Float, want)
	}
}

// rdp is the Renyi divergence of order 8 of one event.
func rdp(t *testing.T, ev account.Event) float64 {
	t.Helper()
	acc, err := account.NewRDP(account.AddRemove, account.Record(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ev, 1); err != nil {
		t.Fatal(err)
	}
	v, err := acc.AtOrder(8)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A schedule of public clips is charged step by step, each at its own sensitivity.
func TestClipSchedule(t *testing.T) {
	m := privacy.Gaussian{NoiseMultiplier: 3}
	l := ledger.NewMemory(nil)
	g := privacy.NewSimulatedGate(l, m, map[string]privacy.Oracle{"joint": joint{1}}, 1, 1)
	dst := make(tensor.Vec, 2)
	clips := []float64{2, 1, .5}
	for _, c := range clips {
		if err := g.Answer(&agent.Query{Oracle: "joint", Clip: c}, dst); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for rec, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		r, _ := joint{1}.Describe(&agent.Query{})
		want, err := account.Gaussian(3, math.Hypot(clips[i]/2, 1))
		if err != nil {
			t.Fatal(err)
		}
		if want, err = r.Sampled(want); err != nil || !rec.Event.Equal(want) {
			t.Errorf("clip %g: charged %s, want %s (%v)", clips[i], rec.Event.Key(), want.Key(), err)
		}
		i++
	}
	if i != len(clips) {
		t.Errorf("%d charges for %d answers", i, len(clips))
	}
}

// reused is an oracle whose releases share memory and whose clip follows the query.
type reused struct{ parts []account.Part }

func (o reused) Describe(q *agent.Query) (account.Release, error) {
	r := privacytest.Release(1, 1)
	o.parts[0] = r.Parts[0]
	o.parts[0].Shift = q.Clip
	r.Parts = o.parts
	return r, nil
}

func (reused) Evaluate(*privacy.Value, *agent.Query, *rng.Stream) {}

// The gate remembers an event only for an equal release, even where an oracle reuses its
// memory.
func TestEventFollowsTheRelease(t *testing.T) {
	l := ledger.NewMemory(nil)
	g := privacy.NewSimulatedGate(l, privacy.Gaussian{NoiseMultiplier: 3},
		map[string]privacy.Oracle{"x": reused{make([]account.Part, 1)}}, 1, 1)
	want := []float64{1, 1, 2, 2, 1}
	for _, c := range want {
		if err := g.Answer(&agent.Query{Oracle: "x", Clip: c}, make(tensor.Vec, 1)); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for rec, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		for range rec.Count {
			ev, _ := account.Gaussian(3, want[i])
			ev, err := privacytest.Release(1, 1).Sampled(ev)
			if err != nil || !rec.Event.Equal(ev) {
				t.Errorf("answer %d was charged %s", i, rec.Event.Key())
			}
			i++
		}
	}
	if i != len(want) {
		t.Errorf("%d charges for %d answers", i, len(want))
	}
	if _, _, err := g.Describe(&agent.Query{Oracle: "x", Clip: math.NaN()}); err == nil {
		t.Error("a clip that is not a number was described")
	}
	_, none, err := g.Describe(&agent.Query{Oracle: "x"}) // sensitivity 0 is no sensitivity
	if err == nil {
		t.Errorf("sensitivity 0 got the event %s", none.Key())
	}
}

// The radius of K-norm noise follows the Gamma law of shape dim, its direction no
// coordinate, and its price does not depend on dim.
func TestKNorm(t *testing.T) {
	const dim, n, scale, clip = 7, 20_000, 1.5, 2
	m := privacy.KNorm{Scale: scale}
	k := rng.Simulated(4, 0, 0)
	s := rng.NewStream(&k, rng.Noise)
	radius := make([]float64, n)
	first := make([]float64, n)
	var cross float64
	for i := range radius {
		v := privacy.Value{Float: make(tensor.Vec, dim)}
		m.Perturb(&v, privacytest.Release(dim, clip), privacy.Charge{Noise: s})
		r := v.Float.Norm()
		radius[i] = r / (scale * clip)
		first[i] = float64(v.Float[0]) / r
		cross += float64(v.Float[0]) / r * float64(v.Float[1]) / r
	}
	slices.Sort(radius)
	slices.Sort(first)
	// Kolmogorov-Smirnov at a false-reject rate of 1e-6. A coordinate of a uniform
	// direction has (1 + x)/2 of the Beta law with parameters (dim-1)/2.
	if d := privacytest.KS(radius, distuv.Gamma{Alpha: dim, Beta: 1}.CDF); d > 2.694 {
		t.Errorf("radius: Kolmogorov-Smirnov statistic %g", d)
	}
	if d := privacytest.KS(radius, distuv.Gamma{Alpha: dim, Beta: 2}.CDF); d < 2.694 {
		t.Error("the test has no power against half the scale")
	}
	beta := distuv.Beta{Alpha: (dim - 1) / 2., Beta: (dim - 1) / 2.}
	if d := privacytest.KS(first, func(x float64) float64 { return beta.CDF((1 + x) / 2) }); d > 2.694 {
		t.Errorf("direction: Kolmogorov-Smirnov statistic %g", d)
	}
	// E[x0 x1] = 0 with variance below E[x0^2] E[x1^2] = 1/dim^2: 4.9 standard errors.
	if math.Abs(cross/n) > 4.9/dim/math.Sqrt(n) {
		t.Errorf("two coordinates have correlation %g", cross/n*dim)
	}
	for _, d := range []int{1, 1000} {
		r := privacytest.Release(d, clip)
		r.Parts[0].Shift = 2
		ev, err := m.Event(r)
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
		if e, err := acc.Epsilon(0); err != nil || e.Upper < 2/scale || e.Upper > 2/scale+1e-11 {
			t.Errorf("dim %d: epsilon %v (%v), want 4/3", d, e, err)
		}
	}
}

// Answers of 3-ary randomized response, and what a vector of labels costs.
func TestRandomizedResponse(t *testing.T) {
	const p, labels, n = .3, 3, 60_000
	m := privacy.RandomizedResponse{Probability: p, Labels: labels}
	r := privacytest.Release(n, labels-1)
	r.Parts[0].Norm, r.Parts[0].Integers, r.Adjacency = account.L1, true, account.ReplaceOne
	k := rng.Simulated(5, 0, 0)
	s := rng.NewStream(&k, rng.Noise)
	for truth, value := range map[int]float32{0: -7, 1: 1, 2: float32(math.Inf(1))} {
		v := privacy.Value{Float: make(tensor.Vec, n)}
		for i := range v.Float {
			v.Float[i] = value
		}
		m.Perturb(&v, r, privacy.Charge{Noise: s})
		count := make([]float64, labels)
		for _, x := range v.Float {
			count[int(x)]++
		}
		statistic := func(p float64) float64 {
			chi := 0.
			for y, c := range count {
				e := p / labels
				if y == truth {
					e += 1 - p
				}
				chi += (c - e*n) * (c - e*n) / (e * n)
			}
			return chi
		}
		limit := distuv.ChiSquared{K: labels - 1}.Quantile(1 - 1e-6)
		if x := statistic(p); x > limit {
			t.Errorf("truth %d: chi-square %g", truth, x)
		}
		if statistic(p/2) < limit {
			t.Error("the test has no power against half the probability")
		}
	}
	// ln((1-p+p/k)/(p/k)) for each label that a record can change: 2 of them with L1
	// sensitivity 2, 1 if there is one label only; all of 16 whose values need not be
	// whole, each of which a record can move over the middle between two labels.
	one := math.Log((1 - p + p/labels) / (p / labels))
	for dim, want := range map[int]float64{n: 2 * one, 1: one, 16: 16 * one} {
		r.Parts[0].Dim, r.Parts[0].Integers = dim, dim != 16
		ev, err := m.Event(r)
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
		if e, err := acc.Epsilon(0); err != nil || math.Abs(e.Upper/want-1) > 1e-9 {
			t.Errorf("%d labels: epsilon %v (%v), want %g", dim, e, err, want)
		}
	}
}
