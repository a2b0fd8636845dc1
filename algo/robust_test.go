package algo_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/rng"
	"sotto/tensor"
)

// mixed is what DP-DSGD under a rule makes of its own and its neighbors' vectors in a
// round without an answer.
func mixed(t testing.TB, rule algo.Mixing, view *agent.View, own tensor.Vec,
	bodies ...tensor.Vec) tensor.Vec {
	t.Helper()
	f, err := algo.New("dsgd", func(p any) error { p.(*algo.DSGDParams).Mixing = rule; return nil })
	if err != nil {
		t.Fatal(err)
	}
	a, err := f(agent.Env{Agents: 1 + len(bodies), Dim: len(own), Rounds: 1, Init: own})
	if err != nil {
		t.Fatal(err)
	}
	in := agent.Input{Kind: agent.Round, View: view}
	for j, b := range bodies {
		in.Inbox = append(in.Inbox, agent.Message{From: agent.ID(j + 1), Body: b})
	}
	var out agent.Output
	if err := a.Step(&in, &out); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := a.Step(&agent.Input{Kind: agent.Exhausted, View: view}, &out); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(a.Params())
}

func row(self float64, weights ...float64) *agent.View {
	v := &agent.View{SelfWeight: self}
	for j, w := range weights {
		v.In = append(v.In, agent.Neighbor{ID: agent.ID(j + 1), Weight: w})
	}
	return v
}

// Expected values by hand from the type's formulas.
//
// clipped, x = (0, 0), neighbors (3, 4) and (0, 1) at distances 5 and 1 with weights 1/4:
// τ = 5/2 halves the first, (3, 4)/8 + (0, 1)/4; f = 1 takes τ = 1, (3, 4)/20 + (0, 1)/4.
// trimmed, x = (1, 0), values 10, 2, -5 and 1, 2, 3 with weights .2, .2, .1 and self .5:
// only the second neighbor's stay, (.5 + .4)/.7 and .4/.7. Of two neighbors f = 1 leaves
// none.
func TestRobustMixingByHand(t *testing.T) {
	quarter := row(.5, .25, .25)
	three := row(.5, .2, .2, .1)
	for name, c := range map[string]struct {
		rule   algo.Mixing
		view   *agent.View
		own    tensor.Vec
		bodies []tensor.Vec
		want   []float64
	}{
		"radius": {algo.Mixing{Mixing: "clipped", Clip: 2.5}, quarter, tensor.Vec{0, 0},
			[]tensor.Vec{{3, 4}, {0, 1}}, []float64{.375, .75}},
		"own radius": {algo.Mixing{Mixing: "clipped", Trim: 1}, quarter, tensor.Vec{0, 0},
			[]tensor.Vec{{3, 4}, {0, 1}}, []float64{.15, .45}},
		"nobody left": {algo.Mixing{Mixing: "clipped", Trim: 2}, quarter, tensor.Vec{7, 8},
			[]tensor.Vec{{3, 4}, {0, 1}}, []float64{7, 8}},
		"trimmed": {algo.Mixing{Mixing: "trimmed", Trim: 1}, three, tensor.Vec{1, 0},
			[]tensor.Vec{{10, 1}, {2, 2}, {-5, 3}}, []float64{.9 / .7, .4 / .7}},
		"none left": {algo.Mixing{Mixing: "trimmed", Trim: 1}, quarter, tensor.Vec{7, 8},
			[]tensor.Vec{{3, 4}, {0, 1}}, []float64{7, 8}},
		"no message": {algo.Mixing{Mixing: "trimmed", Trim: 1}, row(1), tensor.Vec{7, 8}, nil,
			[]float64{7, 8}},
	} {
		got := mixed(t, c.rule, c.view, c.own, c.bodies...)
		for k := range c.want {
			if math.Abs(float64(got[k])-c.want[k]) > 1e-6*(1+math.Abs(c.want[k])) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// neighborhood draws a row of weights that sum to 1, an own vector and as many others,
// uniform in [-2, 2].
func neighborhood(seed uint64, neighbors, dim int) (*agent.View, tensor.Vec, []tensor.Vec) {
	r := rng.Public(seed, "robust mixing")
	weights, whole := make([]float64, neighbors+1), 0.
	for j := range weights {
		weights[j] = .1 + r.Float64()
		whole += weights[j]
	}
	for j := range weights {
		weights[j] /= whole
	}
	draw := func() tensor.Vec {
		v := make(tensor.Vec, dim)
		for k := range v {
			v[k] = float32(4*r.Float64() - 2)
		}
		return v
	}
	own, bodies := draw(), []tensor.Vec{}
	for range neighbors {
		bodies = append(bodies, draw())
	}
	return row(weights[0], weights[1:]...), own, bodies
}

// A radius that no distance reaches gives the bits of plain mixing; a neighbor that may
// send anything moves the result by at most w τ, and under trimming leaves every value
// between those of the others; what is not finite counts as the own vector.
func TestOneNeighborMovesABoundedAmount(t *testing.T) {
	const dim, radius = 6, .7
	for seed := range uint64(60) {
		neighbors := 3 + int(seed%4)
		view, own, bodies := neighborhood(seed, neighbors, dim)
		plain := mixed(t, algo.Mixing{}, view, own, bodies...)
		if got := mixed(t, algo.Mixing{Mixing: "clipped", Clip: 1e6}, view, own,
			bodies...); !slices.Equal(got, plain) {
			t.Fatalf("seed %d: an infinite radius gives %v, plain mixing %v", seed, got, plain)
		}
		clipped, trimmed := algo.Mixing{Mixing: "clipped", Clip: radius},
			algo.Mixing{Mixing: "trimmed", Trim: 1}
		with := func(rule algo.Mixing, v float32) tensor.Vec {
			bad := make(tensor.Vec, dim)
			for k := range bad {
				bad[k] = v * float32(1-2*(k%2))
			}
			return mixed(t, rule, view, own, append([]tensor.Vec{bad}, bodies[1:]...)...)
		}
		without := mixed(t, clipped, view, own, append([]tensor.Vec{own}, bodies[1:]...)...)
		for _, v := range []float32{.1, 3, 1e10, 3e38} {
			moved, got := 0., with(clipped, v)
			for k := range got {
				d := float64(got[k]) - float64(without[k])
				moved += d * d
			}
			if moved = math.Sqrt(moved); !(moved <= view.In[0].Weight*radius+1e-5) {
				t.Fatalf("seed %d: a neighbor that sends %g moves the result by %g, allowed: %g", seed, v,
					moved, view.In[0].Weight*radius)
			}
			for k, x := range with(trimmed, v) {
				low, high := own[k], own[k]
				for _, b := range bodies[1:] {
					low, high = min(low, b[k]), max(high, b[k])
				}
				if !(x >= low-1e-6 && x <= high+1e-6) {
					t.Fatalf("seed %d: a neighbor that sends %g makes value %d %g, the others have %g to %g",
						seed, v, k, x, low, high)
				}
			}
		}
		for _, rule := range []algo.Mixing{clipped, trimmed, {Mixing: "clipped", Trim: 1}} {
			for _, v := range []float64{math.NaN(), math.Inf(1)} {
				if got := with(rule, float32(v)); !got.Finite() {
					t.Fatalf("seed %d: %v of a neighbor gives %v under %+v", seed, v, got, rule)
				}
			}
		}
	}
}

func TestRobustConformance(t *testing.T) {
	for name, rule := range map[string]algo.Mixing{"clipped": {Mixing: "clipped", Clip: .5},
		"own radius": {Mixing: "clipped", Trim: 1}, "trimmed": {Mixing: "trimmed", Trim: 1}} {
		t.Run("dsgd "+name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: factory(t, "dsgd", set(func(p *algo.DSGDParams) {
				p.Mixing = rule
			}))})
		})
		t.Run("gossip-sgd "+name, func(t *testing.T) {
			agenttest.Run(t,
				agenttest.Options{Factory: factory(t, "gossip-sgd", set(func(p *algo.GossipParams) {
					p.Mixing, p.Gossip = rule, 2
				}))})
		})
	}
}

func TestBadMixing(t *testing.T) {
	dsgd := func(m algo.Mixing) func(any) error { return set(func(p *algo.DSGDParams) { p.Mixing = m }) }
	for name, c := range map[string]struct {
		algorithm string
		decode    func(any) error
		key       string
	}{
		"unknown":        {"dsgd", dsgd(algo.Mixing{Mixing: "median"}), "mixing"},
		"no radius":      {"dsgd", dsgd(algo.Mixing{Mixing: "clipped"}), "mixing_trim"},
		"both":           {"dsgd", dsgd(algo.Mixing{Mixing: "clipped", Clip: 1, Trim: 1}), "mixing_trim"},
		"radius":         {"dsgd", dsgd(algo.Mixing{Mixing: "clipped", Clip: math.Inf(1)}), "mixing_clip"},
		"plain radius":   {"dsgd", dsgd(algo.Mixing{Mixing: "plain", Clip: 1}), "mixing_clip"},
		"plain trim":     {"dsgd", dsgd(algo.Mixing{Trim: 1}), "mixing_trim"},
		"trimmed radius": {"dsgd", dsgd(algo.Mixing{Mixing: "trimmed", Clip: 1, Trim: 1}), "mixing_clip"},
		"trimmed none":   {"dsgd", dsgd(algo.Mixing{Mixing: "trimmed"}), "mixing_trim"},
		"tracking": {"dsgt", set(func(p *algo.DSGTParams) {
			p.Mixing = algo.Mixing{Mixing: "trimmed", Trim: 1}
		}), "mixing"},
		"duals": {"dinno", set(func(p *algo.DiNNOParams) {
			p.Mixing = algo.Mixing{Mixing: "clipped", Clip: 1}
		}), "mixing"},
		"mass": {"sgp", set(func(p *algo.SGPParams) {
			p.Mixing = algo.Mixing{Mixing: "clipped", Clip: 1}
		}), "mixing"},
		"accelerated": {"gossip-sgd", set(func(p *algo.GossipParams) {
			p.Acceleration, p.Rho, p.Mixing = "chebyshev", .5, algo.Mixing{Mixing: "clipped", Clip: 1}
		}), "mixing"},
	} {
		var e *config.Error
		if _, err := algo.New(c.algorithm, c.decode); !errors.As(err, &e) || e.Key != c.key ||
			e.Allowed == "" {
			t.Errorf("%s: got %v, want key %s", name, err, c.key)
		}
	}
	env := agent.Env{Agents: 9, Dim: 1, Init: tensor.Vec{0}, Graph: agent.Graph{MinNeighbors: 2}}
	for name, c := range map[string]struct {
		rule    algo.Mixing
		refused bool
	}{
		"trimmed ring":    {algo.Mixing{Mixing: "trimmed", Trim: 1}, true},
		"clipped ring":    {algo.Mixing{Mixing: "clipped", Trim: 1}, false},
		"clipped by none": {algo.Mixing{Mixing: "clipped", Trim: 2}, true},
		"radius":          {algo.Mixing{Mixing: "clipped", Clip: 1}, false},
	} {
		var e *config.Error
		_, err := factory(t, "dsgd", dsgd(c.rule))(env)
		if (err != nil) != c.refused || err != nil && (!errors.As(err, &e) || e.Key != "mixing_trim") {
			t.Errorf("%s with two neighbors: %v", name, err)
		}
	}
}
