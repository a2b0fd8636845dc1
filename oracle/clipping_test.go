package oracle_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// adaptive asks for gradients at θ = 1 of the records (-2x² each) with a clip of the
// query's own and the configured clip of 1.
func adaptive(clip float64, xs ...float32) (*oracle.Gradient, *agent.Query, []float64, []float64) {
	g := newGradient(line(xs...))
	g.Rescale, g.Count, g.Sums.Exact = true, true, true
	q := &agent.Query{Oracle: "grad", At: tensor.Vec{1}, Clip: clip}
	k := rng.Simulated(1, 0, 1)
	v := privacy.Value{Float: make(tensor.Vec, 2)}
	g.Evaluate(&v, q, rng.NewStream(&k, rng.Sample))
	v.Narrow()
	k = rng.Simulated(1, 0, 1)
	grid := make([]int64, 2)
	g.EvaluateGrid(grid, q, rng.NewStream(&k, rng.Sample))
	exact := []float64{float64(grid[0]) * privacy.GridStep(1), float64(grid[1]) * privacy.GridStep(.5)}
	return g, q, []float64{float64(v.Float[0]), float64(v.Float[1])}, exact
}

// Gradients .5, .02 and 18 at a clip of .1: sum .1 + .02 + .1 over .1; one within, two
// not: a count of 1 - 3/2. The record that is no number counts as not within and adds
// nothing.
func TestRescaledGradientsAndCounts(t *testing.T) {
	for _, c := range []struct {
		clip, sum, count float64
		xs               []float32
	}{
		{.1, -.22 / .1, -.5, []float32{.5, .1, 3}},
		{5, -5.52 / 5, .5, []float32{.5, .1, 3}},
		{5, -5.52 / 5, 0, []float32{.5, .1, 3, float32(math.NaN())}},
		{.1, 0, 0, nil},
	} {
		g, q, fast, exact := adaptive(c.clip, c.xs...)
		for _, got := range [][]float64{fast, exact} {
			if math.Abs(got[0]-c.sum) > 1e-4 || got[1] != c.count {
				t.Errorf("clip %v of %v: released %v, want %v and %v", c.clip, c.xs, got, c.sum, c.count)
			}
		}
		r, err := g.Describe(q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Scale != c.clip/2 || len(r.Parts) != 2 || r.Parts[0].Clip != 1 || r.Parts[1].Clip != .5 {
			t.Errorf("clip %v: release %+v", c.clip, r)
		}
	}
}

// One record moves the rescaled sum by at most the configured clip and the count by at
// most 1/2, whatever the clip of the query.
func TestRescaledSensitivity(t *testing.T) {
	for _, clip := range []float64{1e-3, .7, 40} {
		_, _, base, baseExact := adaptive(clip, .5, -1)
		for _, x := range []float32{0, 1e-20, .7, 1e10, float32(math.Inf(1)), float32(math.NaN())} {
			_, _, with, exact := adaptive(clip, .5, -1, x)
			for k, bound := range []float64{1 + 1e-6, .5} {
				if d := math.Abs(with[k] - base[k]); !(d <= bound) {
					t.Errorf("clip %v: record %v moves part %d by %v", clip, x, k, d)
				}
				if d := math.Abs(exact[k] - baseExact[k]); !(d <= bound) {
					t.Errorf("clip %v: record %v moves part %d by %v on the grid", clip, x, k, d)
				}
			}
		}
	}
}

// Gradient and count are one event, z_eff^-2 = z^-2 + (2 σ_b)^-2 (Andrew et al. 2021,
// Theorem 1), and the clip of the query is not part of it.
func TestGradientAndCountAreOneEvent(t *testing.T) {
	const z, sigma = 1.3, 2.5
	var first account.Event
	for k, clip := range []float64{.3, 1, 20} {
		g, q, _, _ := adaptive(clip, 1)
		r, err := g.Describe(q)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := privacy.Gaussian{NoiseMultiplier: z,
			PartNoise: map[string]float64{oracle.CountPart: 2 * sigma}}.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = ev
			one := r
			one.Parts = r.Parts[:1]
			want, err := privacy.Gaussian{NoiseMultiplier: 1 /
				math.Sqrt(1/(z*z)+1/(4*sigma*sigma))}.Event(one)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := epsilonOf(t, ev), epsilonOf(t, want); math.Abs(a-b) > 1e-9*b {
				t.Errorf("epsilon %v, one Gaussian of z_eff has %v", a, b)
			}
		}
		if !ev.Equal(first) {
			t.Errorf("clip %v is another event", clip)
		}
	}
}

func epsilonOf(t *testing.T, ev account.Event) float64 {
	t.Helper()
	a, err := account.New("rdp", account.ZeroOut, account.Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Compose(ev, 3); err != nil {
		t.Fatal(err)
	}
	eps, err := a.Epsilon(1e-5)
	if err != nil {
		t.Fatal(err)
	}
	return eps.Upper
}

// TestClaim26: ConstD2P takes its noise from G, the largest gradient norm seen in runs
// without noise. One record more moves G and the noise as far as it likes: gradients 2x²
// of the records .5 and -1, then of 3 and of 100. A clip bounds the sum whatever the
// record.
func TestClaim26(t *testing.T) {
	largest := func(xs ...float32) float64 {
		g := 0.
		for _, x := range xs {
			g = max(g, math.Abs(evaluate(newGradient(line(x)), 1, math.Inf(1), 1)))
		}
		return g
	}
	for _, c := range []struct {
		more float32
		want float64
	}{{0, 2}, {3, 18}, {100, 20000}} {
		if got := largest(.5, -1, c.more); math.Abs(got-c.want) > 1e-4*c.want {
			t.Errorf("with a record %v G is %v, want %v", c.more, got, c.want)
		}
		if d := math.Abs(evaluate(newGradient(line(.5, -1, c.more)), 1, 0, 1) -
			evaluate(newGradient(line(.5, -1)), 1, 0, 1)); d > 1+1e-6 {
			t.Errorf("with a clip of 1 the record %v moves the sum by %v", c.more, d)
		}
	}
}
