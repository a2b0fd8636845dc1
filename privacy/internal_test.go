package privacy

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// ones is an oracle whose value is 1 in every coordinate, in floating point or integers.
type ones struct {
	sampled *uint64
	given   *Value // the memory that it was given
}

func (ones) Describe(q *agent.Query) (account.Release, error) {
	return account.Release{
		Oracle:    "ones",
		Adjacency: account.ZeroOut,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "value", Clip: 1, Shift: 1, Norm: account.L2, Dim: 5000}},
		Scale:     1,
	}, nil
}

func (o ones) Evaluate(dst *Value, _ *agent.Query, sample *rng.Stream) {
	*o.sampled = sample.Uint64()
	*o.given = *dst
	for i := range dst.Float {
		if dst.Float[i] != 0 {
			panic("the value of an earlier answer is left")
		}
		dst.Float[i] = 1
	}
}

func (o ones) EvaluateGrid(dst []int64, _ *agent.Query, sample *rng.Stream) {
	*o.sampled = sample.Uint64()
	*o.given = Value{Grid: dst}
	for i := range dst {
		if dst[i] != 0 {
			panic("the value of an earlier answer is left")
		}
		dst[i] = 1 << 20
	}
}

// After an answer nothing that could rebuild the noise or the value is left in the gate:
// key streams are overwritten and the value is zero, whatever mechanism ran.
func TestNothingIsLeftOfACharge(t *testing.T) {
	var erased rng.Stream
	erased.Erase()
	for _, m := range []Mechanism{Gaussian{NoiseMultiplier: 1}, DiscreteGaussian{NoiseMultiplier: 1},
		DiscreteGaussian{NoiseMultiplier: 1, Gridding: Gridding{Quantise: true}}, KNorm{Scale: 1}} {
		t.Run(fmt.Sprintf("%T", m), func(t *testing.T) {
			var sampled uint64
			var given Value
			g := NewGate(ledger.NewMemory(nil), m, map[string]Oracle{"ones": ones{&sampled, &given}})
			var keys []rng.Key
			secret := g.keys
			g.keys = func(seq uint64) rng.Key {
				k := secret(seq)
				keys = append(keys, k)
				return k
			}
			dst := make(tensor.Vec, 5000)
			for range 3 {
				if err := g.Answer(&agent.Query{Oracle: "ones"}, dst); err != nil {
					t.Fatal(err)
				}
				// of this answer; under -race the pool forgets some, and this is a new
				// one
				u := used.Get()
				for _, s := range []*rng.Stream{&u.noise, &u.sample} {
					if !reflect.DeepEqual(*s, erased) && !reflect.DeepEqual(*s, rng.Stream{}) {
						t.Fatal("a key stream is left after the answer")
					}
				}
				used.Put(u)
				grid := given.Grid[:cap(given.Grid)] // of a mechanism that makes integers itself, too
				if len(given.Float)+len(grid) == 0 || slices.ContainsFunc(given.Float, func(x float32) bool {
					return x != 0
				}) ||
					slices.ContainsFunc(grid, func(n int64) bool { return n != 0 }) {
					t.Fatal("the value is left after the answer")
				}
				// The sampling stream is that of the charge's key in its own domain.
				if k := keys[len(keys)-1]; rng.NewStream(&k, rng.Sample).Uint64() != sampled {
					t.Fatal("the sample does not come from the charge's key")
				}
			}
			if len(keys) != 3 || keys[0] == keys[1] || keys[1] == keys[2] || keys[0] == keys[2] ||
				keys[0] == (rng.Key{}) {
				t.Errorf("%d charges did not draw a fresh key each", len(keys))
			}
		})
	}
}

func newTruncatedFor(t *testing.T, name string, scale, bound float64) Truncated {
	t.Helper()
	m, err := New(name, func(p any) error {
		p.(*TruncatedParams).Scale, p.(*TruncatedParams).Truncation = scale, bound
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m.(Truncated)
}

// cellWeights are the integer weights of all cells, as fractions.
func (m Truncated) cellWeights() []float64 {
	w := make([]float64, len(m.cumulative)+1)
	last := uint64(0)
	for i, c := range m.cumulative {
		w[i] = math.Ldexp(float64(c-last), -64)
		last = c
	}
	w[len(w)-1] = math.Ldexp(float64(-last), -64)
	return w
}

// Every cell has the probability of its interval under the truncated law, by distribution
// functions that do not come from here.
func TestTruncatedTable(t *testing.T) {
	for _, c := range []struct {
		name         string
		scale, bound float64
	}{{"truncated-laplace", 1.5, 10}, {"truncated-laplace", .2, 12}, {"truncated-gaussian", 2, 24},
		{"truncated-gaussian", 50, 8}, {"truncated-laplace", 200, 8192}, {"truncated-gaussian", .5, .0625}} {
		m := newTruncatedFor(t, c.name, c.scale, c.bound)
		cdf := distuv.Laplace{Scale: c.scale}.CDF
		if c.name == "truncated-gaussian" {
			cdf = distuv.Normal{Sigma: c.scale}.CDF
		}
		cell := math.Ldexp(1, -m.bits)
		edge := (float64(m.last) + .5) * cell
		if edge < c.bound || edge > c.bound+cell*1.5 || m.last > maxCells {
			t.Errorf("%+v: noise ends at %g with %d cells", c, edge, m.last)
		}
		sum := 0.
		for i, w := range m.cellWeights() {
			// by symmetry, where the distribution function is accurate
			x := -math.Abs(float64(i-m.last)) * cell
			want := (cdf(x+cell/2) - cdf(x-cell/2)) / (1 - 2*cdf(-edge))
			if math.Abs(w-want) > 2e-14 { // the reference is a difference of values near .5
				t.Fatalf("%+v: cell %d has weight %g, want %g", c, i-m.last, w, want)
			}
			sum += w
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("%+v: weights sum to %g", c, sum)
		}
		l, lowest := int64(m.last), int64(0)
		for m.cumulative[lowest] == 0 { // cells that weigh less than 2^-64 are never drawn
			lowest++
		}
		for u, want := range map[uint64]int64{0: lowest - l, 1 << 63: 0, m.cumulative[l] - 1: 0,
			m.cumulative[l]: 1, m.cumulative[l-1] - 1: -1, m.cumulative[l-1]: 0, math.MaxUint64: l} {
			if got := m.cell(u); got != want {
				t.Errorf("%+v: draw %d falls into cell %d, want %d", c, u, got, want)
			}
		}
	}
}

// The claimed profile holds for the integers that are in fact sampled: delta at every
// epsilon by summing over all cells, against the accountant's delta of the event, in both
// directions and for both sensitivities.
func TestTruncatedProfile(t *testing.T) {
	for _, c := range []struct {
		name                string
		scale, bound, shift float64
	}{
		{"truncated-laplace", 1, 8, 1}, {"truncated-laplace", 4, 40, 2}, {"truncated-gaussian", 3, 20, 1},
		{"truncated-gaussian", 4.6, 55, 1}, {"truncated-laplace", 1, 2.25, 1},
		{"truncated-gaussian", 2, 1.5, 1.25},
	} {
		m := newTruncatedFor(t, c.name, c.scale, c.bound)
		r, _ := ones{}.Describe(nil)
		r.Parts[0].Dim, r.Parts[0].Shift = 1, c.shift
		ev, err := m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := account.NewPLD(account.ZeroOut, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 1); err != nil {
			t.Fatal(err)
		}
		w := m.cellWeights()
		shift := int(math.Ldexp(c.shift, m.bits))
		at := func(i int) float64 {
			if i < 0 || i >= len(w) {
				return 0
			}
			return w[i]
		}
		for _, eps := range []float64{0, .01, .3, 1, 2.5, 6} {
			remove, add := 0., 0.
			for i := -shift; i < len(w)+shift; i++ {
				remove += max(0, at(i)-math.Exp(eps)*at(i+shift))
				add += max(0, at(i+shift)-math.Exp(eps)*at(i))
			}
			got, err := acc.Delta(eps)
			if err != nil {
				t.Fatal(err)
			}
			if most := max(remove, add); got.Upper < most*(1-1e-12) || got.Upper > most*(1+1e-4)+1e-4 {
				t.Errorf("%+v at epsilon %g: delta %g by summation, claimed %g", c, eps, most, got.Upper)
			}
		}
	}
}

// The distance and the largest loss that Event charges for are those of the integers.
func TestTruncatedLossAndDistance(t *testing.T) {
	for _, m := range []Truncated{newTruncatedFor(t, "truncated-laplace", 2, 10),
		newTruncatedFor(t, "truncated-gaussian", 4, 14)} {
		w := m.cellWeights()
		for _, shift := range []int{1, 2, 1023, 1024, 20_000, 1 << 20} {
			want := 0.
			for i := range w {
				if i < shift {
					want += w[i]
				} else {
					want += max(0, w[i]-w[i-shift])
				}
			}
			if got := m.distance(float64(shift)); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s shifted by %d cells: distance %g, want %g", m.family, shift, got, want)
			}
		}
		shift, most := 1<<m.bits, 0.
		for i := shift; i < len(w); i++ {
			most = max(most, math.Log(w[i-shift]/w[i]), math.Log(w[i]/w[i-shift]))
		}
		if loss := m.largestLoss(m.scale, math.Ldexp(float64(m.last)+.5, -m.bits)); loss < most*(1-1e-6) ||
			loss > most*1.001 {
			t.Errorf("%s: largest loss %g, want %g", m.family, loss, most)
		}
	}
}

// The published (1, 1e-3) truncated Laplace mechanism of Geng et al. 2020 has delta 1e-3,
// and the published truncated normal noise for (1, 1e-3) has delta .2862 instead.
func TestPublishedTruncations(t *testing.T) {
	e0, d0 := 1., 1e-3
	bound := math.Log1p(math.Expm1(e0)/(2*d0)) / e0
	for _, c := range []struct {
		m    Truncated
		want float64
	}{
		{newTruncatedFor(t, "truncated-laplace", 1/e0, bound), 1e-3},
		// density exp(-(z/w)^2) with w^2 = D^2/e0 is a standard deviation of w/sqrt 2
		{newTruncatedFor(t, "truncated-gaussian", 1/math.Sqrt(2*e0), 3.184), .2862},
	} {
		r, _ := ones{}.Describe(nil)
		r.Parts[0].Dim = 1
		ev, err := c.m.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := account.NewPLD(account.ZeroOut, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(ev, 1); err != nil {
			t.Fatal(err)
		}
		if d, err := acc.Delta(e0); err != nil || math.Abs(d.Upper/c.want-1) > 5e-3 {
			t.Errorf("%s: delta %v at epsilon 1, want %g (%v)", c.m.family, d, c.want, err)
		}
	}
}

func TestCeilThreshold(t *testing.T) {
	for _, p := range []float64{1e-300, 1e-19, 1. / 3, .5, 1 - 0x1p-53} {
		th, all := ceilThreshold(p)
		if all || math.Ldexp(float64(th), -64) < p || float64(th)-math.Ldexp(p, 64) > 1 {
			t.Errorf("ceilThreshold(%g) = %d, %v", p, th, all)
		}
	}
	if _, all := ceilThreshold(1); !all {
		t.Error("probability 1 must always hit")
	}
}
