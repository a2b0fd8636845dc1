package privacy_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// zeros releases a vector of zeros of the named norm.
type zeros struct {
	name string
	norm account.Norm
	dim  int
}

func (z zeros) Describe(q *agent.Query) (account.Release, error) {
	return account.Release{
		Oracle:    z.name,
		Adjacency: account.ReplaceOne,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "v", Clip: 1, Shift: 2, Norm: z.norm, Dim: z.dim}},
		Scale:     1,
	}, nil
}

func (zeros) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {}
func (zeros) EvaluateGrid([]int64, *agent.Query, *rng.Stream)            {}

// A query's factor multiplies the noise and what is charged follows: the sample's
// deviation is within 5 % of the factor's (false reject below 1e-6 for 40,000 values),
// and the ledger lists the event of the scaled mechanism.
func TestQueriesScaleNoise(t *testing.T) {
	const dim = 40_000
	for name, scale := range map[string]float64{"gaussian": 2, "laplace": 2} {
		norm, deviation := account.L2, 1.
		if name == "laplace" {
			norm, deviation = account.L1, math.Sqrt2
		}
		m, err := privacy.New(name, func(p any) error {
			switch p := p.(type) {
			case *privacy.Gaussian:
				p.NoiseMultiplier = scale
			case *privacy.Laplace:
				p.Scale = scale
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		l := ledger.NewMemory(nil)
		g := privacy.NewSimulatedGate(l, m, map[string]privacy.Oracle{"zeros": zeros{"zeros", norm, dim}}, 1,
			0)
		dst := make(tensor.Vec, dim)
		for _, factor := range []float64{0, 3, 1, .5, 0} {
			if err := g.Answer(&agent.Query{Oracle: "zeros", Noise: factor}, dst); err != nil {
				t.Fatal(err)
			}
			want := scale * deviation
			if factor > 0 {
				want *= factor
			}
			if got := dst.Norm() / math.Sqrt(dim); math.Abs(got/want-1) > .05 {
				t.Errorf("%s, factor %g: deviation %g, want %g", name, factor, got, want)
			}
		}
		var counts []uint64
		var costs []float64
		for r, err := range l.Records() {
			if err != nil {
				t.Fatal(err)
			}
			acc, err := account.New("pld", account.ReplaceOne, account.Record())
			if err != nil {
				t.Fatal(err)
			}
			if err := acc.Compose(*r.Event, 1); err != nil {
				t.Fatal(err)
			}
			eps, err := acc.Epsilon(1e-5)
			if err != nil {
				t.Fatal(err)
			}
			counts, costs = append(counts, r.Count), append(costs, eps.Upper)
		}
		if len(counts) != 5 || costs[0] != costs[2] || costs[0] != costs[4] || !(costs[1] < costs[0]/2) ||
			!(costs[3] > 1.5*costs[0]) {
			t.Errorf("%s: charges of %v for factors 1, 3, 1, 1/2, 1", name, costs)
		}
		for _, factor := range []float64{-1, math.NaN(), math.Inf(1)} {
			if err := g.Answer(&agent.Query{Oracle: "zeros", Noise: factor}, dst); !errors.Is(err,
				privacy.ErrQuery) {
				t.Errorf("a factor of %g: %v", factor, err)
			}
		}
	}
	rr, err := privacy.New("randomized-response", func(p any) error {
		r := p.(*privacy.RandomizedResponse)
		r.Probability, r.Labels = .5, 2
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := privacy.Scaled(rr, 2); !errors.Is(err, privacy.ErrQuery) {
		t.Errorf("randomized response was scaled: %v", err)
	}
}

// Two oracles with one description and mechanisms of their own are not taken for one
// another.
func TestOraclesOfOneDescription(t *testing.T) {
	quiet, errQ := privacy.NewGaussian(1)
	loud, errL := privacy.NewGaussian(9)
	if err := errors.Join(errQ, errL); err != nil {
		t.Fatal(err)
	}
	g := privacy.NewSimulatedGate(ledger.NewMemory(nil), quiet,
		map[string]privacy.Oracle{"a": zeros{"v", account.L2, 1}, "v": zeros{"v", account.L2, 1}}, 1, 0)
	g.SetMechanism("v", loud)
	var events [4]account.Event
	for k, name := range []string{"a", "v", "a", "v"} {
		if err := g.Answer(&agent.Query{Oracle: name}, make(tensor.Vec, 1)); err != nil {
			t.Fatal(err)
		}
		_, ev, err := g.Describe(&agent.Query{Oracle: name})
		if err != nil {
			t.Fatal(err)
		}
		events[k] = ev
	}
	if events[0] == events[1] || events[0] != events[2] || events[1] != events[3] {
		t.Errorf("events %v", events)
	}
}

// An oracle may have a mechanism of its own; the others keep the gate's, whatever order
// they are asked in.
func TestOraclesWithTheirOwnMechanism(t *testing.T) {
	gaussian, err := privacy.NewGaussian(1)
	if err != nil {
		t.Fatal(err)
	}
	knorm, err := privacy.NewMechanism("k-norm", 5)
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.NewMemory(nil)
	g := privacy.NewSimulatedGate(l, gaussian,
		map[string]privacy.Oracle{"a": zeros{"a", account.L2, 3}, "b": zeros{"b", account.L2, 3}}, 1, 0)
	g.SetMechanism("b", knorm)
	dst := make(tensor.Vec, 3)
	for _, name := range []string{"a", "b", "b", "a", "b"} {
		if err := g.Answer(&agent.Query{Oracle: name}, dst); err != nil {
			t.Fatal(err)
		}
	}
	var got []account.Type
	for r, err := range l.Records() {
		if err != nil {
			t.Fatal(err)
		}
		for range r.Count {
			got = append(got, r.Event.Type())
		}
	}
	want := []account.Type{account.TypeGaussian, account.TypeEpsDelta, account.TypeEpsDelta,
		account.TypeGaussian, account.TypeEpsDelta}
	if len(got) != len(want) {
		t.Fatalf("charges %v", got)
	}
	for k := range want {
		if got[k] != want[k] {
			t.Errorf("charge %d is %v, want %v", k, got[k], want[k])
		}
	}
}
