package algo_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

func TestSGPConformance(t *testing.T) {
	for name, decode := range map[string]func(any) error{
		"sgd":      set(func(p *algo.SGPParams) { p.WeightDecay = .01 }),
		"momentum": set(func(p *algo.SGPParams) { p.StepSize.StepSize, p.Momentum = .03, .5 }),
		"ema":      set(func(p *algo.SGPParams) { p.EMA = .8 }),
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: factory(t, "sgp", decode)})
		})
	}
}

func pusher(t *testing.T, init float32) agent.Algorithm {
	t.Helper()
	a, err := factory(t, "sgp", set(func(p *algo.SGPParams) {
		p.StepSize.StepSize = .5
	}))(agent.Env{Agents: 2, Dim: 1, Rounds: 9, Init: tensor.Vec{init}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Two agents by hand, P = [[3/4, 1/2], [1/4, 1/2]], step size 1/2, answers 1 and 2: from
// x = (4, 8), w = (1, 1)
//
//	x = (3+4, 1+4) = (7, 5),  w = (5/4, 3/4),  z = (5.6, 6.6667),
//	x - G/2 = (6.5, 4),  z = (5.2, 5.3333)
//
// and then, with the message 0 -> 1 lost and given back,
//
//	x = (6.5+2, 2) = (8.5, 2),  w = (5/4+3/8, 3/8) = (1.625, .375).
func TestSGPByHand(t *testing.T) {
	type want struct{ at, after, mass float64 }
	algs := []agent.Algorithm{pusher(t, 4), pusher(t, 8)}
	views := []agent.View{
		{SelfWeight: .75, In: []agent.Neighbor{{ID: 1, Weight: .5}},
			Out: []agent.Neighbor{{ID: 1, Weight: .25}}},
		{SelfWeight: .5, In: []agent.Neighbor{{ID: 0, Weight: .25}},
			Out: []agent.Neighbor{{ID: 0, Weight: .5}}},
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 5e-7*math.Abs(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	sent := make([]agent.Message, 2)
	step := func(i int, in agent.Input) *agent.Output {
		t.Helper()
		out := new(agent.Output)
		if err := algs[i].Step(&in, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	post := func(i int, out *agent.Output) {
		m := out.Outbox[0]
		m.From, m.Body = agent.ID(i), append(tensor.Vec{}, m.Body...)
		sent[i] = m
	}
	for i := range algs {
		post(i, step(i, agent.Input{Kind: agent.Start, View: &views[i]}))
	}
	first := []want{{5.6, 5.2, 1.25}, {20. / 3, 16. / 3, .75}}
	inbox := [][]agent.Message{{sent[1]}, {sent[0]}}
	for i, w := range first {
		out := step(i, agent.Input{Kind: agent.Round, View: &views[i], Inbox: inbox[i]})
		near("the query's point", float64(out.Query.At[0]), w.at)
		post(i, step(i, agent.Input{Kind: agent.Answer, View: &views[i], Answer: tensor.Vec{float32(i + 1)}}))
		near("z", float64(algs[i].Params()[0]), w.after)
		near("the mass of the message", sent[i].Mass, w.mass)
	}
	// The runtime puts the weight of the missing sender 0 on agent 1's own.
	lost := agent.View{SelfWeight: .75, Out: views[1].Out, Missing: 1}
	back := sent[0]
	back.To = 1
	step(0, agent.Input{
		Kind:     agent.Round,
		Round:    1,
		View:     &views[0],
		Inbox:    []agent.Message{sent[1]},
		Returned: []agent.Message{back},
	})
	step(1, agent.Input{Kind: agent.Round, Round: 1, View: &lost})
	for i, w := range []want{{8.5 / 1.625, 0, 1.625}, {2 / .375, 0, .375}} {
		near("z after a loss", float64(algs[i].Params()[0]), w.at)
		near("mass after a loss", algs[i].(*algo.SGP).Mass(), w.mass)
	}
}

// An agent whose messages vanish without notice, and who hears nothing, halves its mass
// each round and stops with ErrMass.
func TestSGPStopsWithoutMass(t *testing.T) {
	a := pusher(t, 1)
	view := agent.View{SelfWeight: 1, Out: []agent.Neighbor{{ID: 1, Weight: .5}}, Missing: 1}
	var out agent.Output
	for k := range uint64(60) {
		out.Reset()
		err := a.Step(&agent.Input{Kind: agent.Round, Round: k, View: &view}, &out)
		if k < 39 && err != nil || k >= 39 && !errors.Is(err, algo.ErrMass) { // 2^-39 > 1e-12 > 2^-40
			t.Fatalf("round %d: %v", k, err)
		}
		if err != nil {
			return
		}
	}
}

// pull answers h_i (θ - b_i) in every coordinate.
type pull struct{ h, b float64 }

func (pull) Begin(uint64, []agent.Neighbor) {}

func (p pull) Answer(q *agent.Query, dst tensor.Vec) error {
	for k, x := range q.At {
		dst[k] = float32(p.h * (float64(x) - p.b))
	}
	return nil
}

// network runs five agents of one parameter; agent i starts at start(i) and has the i-th
// quadratic, scaled by force.
type network struct {
	spec   topology.Spec
	path   string // of an arc list
	faults sim.Faults
	force  float64
	start  func(i int) float32
}

func (w network) run(t *testing.T, name string, decode func(any) error, rounds uint64,
	each func(k uint64, algs []agent.Algorithm)) []float64 {
	t.Helper()
	w.spec.Agents = 5
	schedule, err := topology.Build(w.spec, func(p any) error {
		if f, ok := p.(*topology.FileParams); ok {
			f.Path = w.path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Schedule: schedule, Dim: 1, Steps: rounds, Seed: 4, Faults: w.faults}
	f := factory(t, name, decode)
	var algs []agent.Algorithm
	for i := range 5 {
		start := tensor.Vec{0}
		if w.start != nil {
			start[0] = w.start(i)
		}
		a, err := f(agent.Env{Self: agent.ID(i), Agents: 5, Dim: 1, Rounds: rounds, Init: start})
		if err != nil {
			t.Fatal(err)
		}
		algs = append(algs, a)
		cfg.Agents = append(cfg.Agents,
			sim.Agent{Algorithm: a, Gate: pull{w.force * curvature[i], minimum[i]}})
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for k := range rounds {
		if err := s.Run(context.Background(), k+1); err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(k, algs)
		}
	}
	x := make([]float64, 5)
	for i := range x {
		x[i] = float64(s.Model(i)[0])
	}
	return x
}

// On a symmetric graph SGP is DSGD, mix-then-grad, whatever the gradients.
func TestSGPIsDSGDOnSymmetricGraphs(t *testing.T) {
	for _, spec := range []topology.Spec{{Graph: "star"}, {Graph: "ring", Dropout: .3, Window: 20, Seed: 2}} {
		w := network{spec: spec, force: 1, start: func(int) float32 { return 2 }}
		a := w.run(t, "sgp", set(func(p *algo.SGPParams) {
			p.StepSize.StepSize, p.WeightDecay = .05, .1
		}), 60, nil)
		b := w.run(t, "dsgd", set(func(p *algo.DSGDParams) {
			p.StepSize.StepSize, p.WeightDecay, p.Order = .05, .1, "mix-then-grad"
		}), 60, nil)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 5e-6*(1+math.Abs(b[i])) {
				t.Errorf("%s, agent %d: sgp %v, dsgd %v", spec.Graph, i, a[i], b[i])
			}
		}
	}
}

const irregular = "../topology/testdata/irregular.txt"

func mass(algs []agent.Algorithm) float64 {
	total := 0.
	for _, a := range algs {
		total += a.(*algo.SGP).Mass()
	}
	return total
}

// Without gradients every z reaches the mean of the starts, to 1e-6 relative, and the
// mass stays 5 to 1e-12, on the irregular digraph and on changing ones, with a fifth of
// all messages lost or late. Before rounds w is 1; after one round without loss it is
// what column sums make of it.
func TestPushSumReachesTheMean(t *testing.T) {
	digraph := topology.Spec{Graph: "directed-file", Push: true}
	for name, w := range map[string]network{
		"irregular":       {spec: digraph, path: irregular},
		"20 percent lost": {spec: digraph, path: irregular, faults: sim.Faults{Drop: .2}},
		"lost and late": {spec: digraph, path: irregular,
			faults: sim.Faults{Drop: .1, Delay: .1, MaxDelay: 3}},
		"dropout of arcs": {spec: topology.Spec{Graph: "directed-file", Push: true, Dropout: .2,
			Window: 30, Seed: 3}, path: irregular},
		"exponential, lossy": {spec: topology.Spec{Graph: "exp-directed", Push: true},
			faults: sim.Faults{Drop: .2}},
		"column star": {spec: topology.Spec{Graph: "star", Weights: "column", Push: true}},
	} {
		w.start = func(i int) float32 { return float32(i*i + 1) } // mean 7
		x := w.run(t, "sgp", func(any) error { return nil }, 200, func(k uint64, algs []agent.Algorithm) {
			if got := mass(algs); math.Abs(got-5) > 1e-12 {
				t.Fatalf("%s: mass %v after round %d", name, got, k)
			}
			if name == "irregular" && k == 0 {
				for i, want := range []float64{7. / 6, 5. / 6, 4. / 3, 5. / 6, 5. / 6} {
					if got := algs[i].(*algo.SGP).Mass(); math.Abs(got-want) > 1e-15 {
						t.Errorf("mass of agent %d is %v after one round, want %v", i, got, want)
					}
				}
			}
		})
		for i, v := range x {
			if math.Abs(v-7) > 7e-6 {
				t.Errorf("%s: agent %d ends at %v, the mean is 7", name, i, v)
			}
		}
	}
}

// On a directed ring and on the irregular digraph small steps end near the minimiser of
// the sum of the quadratics, the nearer the smaller the step.
func TestSGPConvergesOnDigraphs(t *testing.T) {
	num, den := 0., 0.
	for i, h := range curvature {
		num += h * minimum[i]
		den += h
	}
	for name, w := range map[string]network{
		"ring":      {spec: topology.Spec{Graph: "directed-ring", Push: true}, force: 1},
		"irregular": {spec: topology.Spec{Graph: "directed-file", Push: true}, path: irregular, force: 1},
	} {
		off := func(step float64, rounds uint64) float64 {
			worst := 0.
			for _, v := range w.run(t, "sgp", set(func(p *algo.SGPParams) {
				p.StepSize.StepSize = step
			}), rounds, nil) {
				worst = max(worst, math.Abs(v-num/den))
			}
			return worst
		}
		coarse, fine := off(.02, 800), off(.002, 8000)
		if fine > .03 || fine > coarse/5 {
			t.Errorf("%s: %v from the minimiser with steps of .002, %v with .02", name, fine, coarse)
		}
	}
}

// TestClaim28: the published experiments say that push-sum corrects for directed graphs,
// on the exponential graph. That one is doubly stochastic: w stays 1, bit for bit, and
// nothing is corrected. On the irregular digraph x alone stays spread while x/w agrees.
func TestClaim28(t *testing.T) {
	for _, graph := range []string{"exp-directed", "exp-directed-2"} {
		w := network{spec: topology.Spec{Graph: graph, Push: true}, force: 1}
		w.run(t, "sgp", func(any) error { return nil }, 40, func(k uint64, algs []agent.Algorithm) {
			for i, a := range algs {
				if m := a.(*algo.SGP).Mass(); m != 1 {
					t.Fatalf("%s: w of agent %d is %v after round %d", graph, i, m, k)
				}
			}
		})
	}
	w := network{spec: topology.Spec{Graph: "directed-file", Push: true}, path: irregular,
		start: func(int) float32 { return 7 }}
	w.run(t, "sgp", func(any) error { return nil }, 200, func(k uint64, algs []agent.Algorithm) {
		if k < 199 {
			return
		}
		for i, want := range []float64{1.0714, .7143, 1.4286, 1.0714, .7143} { // fixed point of the columns
			m, z := algs[i].(*algo.SGP).Mass(), float64(algs[i].Params()[0])
			if math.Abs(m-want) > 5e-5 || math.Abs(z-7) > 1e-5 {
				t.Errorf("agent %d: w = %v, want %v; z = %v, want 7, and x = %v is far from it", i, m, want,
					z, m*z)
			}
		}
	})
}
