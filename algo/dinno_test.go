package algo_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

func TestDiNNOConformance(t *testing.T) {
	for name, edit := range map[string]func(*algo.DiNNOParams){
		"adam": func(p *algo.DiNNOParams) {
			p.Optimizer.Optimizer, p.Rho = "adam", .05
			p.StepSize.StepSize, p.Schedule, p.StepSizeFinal = .1, "geometric", 1e-3
		},
		"adam-fresh": func(p *algo.DiNNOParams) {
			p.Optimizer.Optimizer, p.StepSize.StepSize, p.Schedule, p.StepSizeFinal = "adam-fresh", .1,
				"geometric", 1e-3
		},
		"sgd": func(p *algo.DiNNOParams) {
			p.Optimizer.Optimizer, p.StepSize.StepSize, p.PrimalSteps = "sgd", .1, 3
		},
		"sgd, rising penalty": func(p *algo.DiNNOParams) {
			p.Optimizer.Optimizer, p.StepSize.StepSize, p.RhoScale, p.RhoMax, p.SelfProx, p.EMA = "sgd", .05,
				1.01, 2, true, .5
		},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: factory(t, "dinno", set(edit))})
		})
	}
}

func dinno(t *testing.T, edit func(*algo.DiNNOParams)) agent.Factory {
	return factory(t, "dinno", set(func(p *algo.DiNNOParams) {
		p.Optimizer.Optimizer, p.StepSize.StepSize = "sgd", .1
		edit(p)
	}))
}

// On h θ²/2 - h b θ the agents meet at Σ h_i b_i / Σ h_i, the exact minimiser of the sum,
// at a constant step.
func TestDiNNOReachesTheCommonMinimum(t *testing.T) {
	num, den := 0., 0.
	for i, h := range curvature {
		num += h * minimum[i]
		den += h
	}
	l := newLockstep(t, dinno(t, func(p *algo.DiNNOParams) {
		p.PrimalSteps = 5
	}), ring(5), 2000, 0, quadratic)
	for k := range uint64(2000) {
		l.round(t, k)
	}
	for i, x := range l.theta() {
		if want := num / den; math.Abs(x-want) > 5e-6 {
			t.Errorf("agent %d: %.9g, want %.9g", i, x, want)
		}
	}
	if want := 5 * 2000 * 5; l.asked != want {
		t.Errorf("%d queries, want K·T for each agent, %d", l.asked, want)
	}
}

// With one primal step a round and fresh moments Adam's step is η g/(|g| + 1e-8), g the
// gradient of the augmented Lagrangian: the published method is sign descent. The
// reference follows the paper's formulas in float64.
func TestDiNNOFreshAdamIsSignDescent(t *testing.T) {
	const eta, rho, n = .01, .5, 5
	f := factory(t, "dinno", set(func(p *algo.DiNNOParams) {
		p.Optimizer.Optimizer, p.StepSize.StepSize, p.RhoScale = "adam-fresh", eta, 1.0003
	}))
	l := newLockstep(t, f, ring(n), 50, 1, quadratic)
	theta, dual := [n]float64{1, 1, 1, 1, 1}, [n]float64{}
	r := rho
	for k := range uint64(50) {
		r *= 1.0003
		next := theta
		for i := range n {
			a, b := theta[(i+1)%n], theta[(i+n-1)%n]
			dual[i] += r * (2*theta[i] - a - b)
			g := float64(quadratic(i, float32(theta[i]))) + dual[i] + 2*r*(2*theta[i]-(2*theta[i]+a+b)/2)
			next[i] -= eta * g / (math.Abs(g) + 1e-8)
		}
		theta = next
		l.round(t, k)
		got := l.theta()
		for i := range n {
			if math.Abs(got[i]-theta[i]) > 1e-6*(1+float64(k)) {
				t.Fatalf("round %d, agent %d: %.9g, the sign formula gives %.9g", k, i, got[i], theta[i])
			}
			theta[i] = got[i] // signs near zero would part ways
		}
	}
}

// The duals sum to zero in every round: read off the sum of all agents' updates, which
// then holds gradients alone, Σ θ^{k+1} = Σ θ^k - η Σ (G̃_i + 2ρ Σ_j (θ_i-θ_j)/2), whose
// penalty terms cancel on a symmetric graph too.
func TestDiNNODualsCancel(t *testing.T) {
	l := newLockstep(t, dinno(t, func(p *algo.DiNNOParams) {
		p.RhoScale, p.StepSize.StepSize = 1.01, .05
	}), ring(5), 200, 0, quadratic)
	for k := range uint64(200) {
		before, want := l.theta(), 0.
		l.round(t, k)
		got := 0.
		for i, x := range l.theta() {
			want += before[i] - .05*l.latest[i]
			got += x
		}
		if math.Abs(got-want) > 2e-5 {
			t.Fatalf("round %d: the sum of models is %g, want %g", k, got, want)
		}
	}
}

// TestClaim11: line 15 of Algorithm 3 is printed as ψ + G̃. It ascends: on a quadratic
// the agents leave, while the descending form meets at the minimiser. Turning the loss
// alone is another algorithm.
func TestClaim11(t *testing.T) {
	end := func(ascend bool, rounds uint64) float64 {
		l := newLockstep(t, dinno(t, func(p *algo.DiNNOParams) {
			p.Ascend = ascend
		}), ring(5), rounds, 0, quadratic)
		far := 0.
		for k := range rounds {
			l.round(t, k)
		}
		for _, x := range l.theta() {
			far = max(far, math.Abs(x))
		}
		return far
	}
	if up, down := end(true, 40), end(false, 300); !(up > 1e6) || !(down < 2) {
		t.Errorf("ascending ends at %g, descending at %g; want divergence and less than 2", up, down)
	}
	// The printed line has loss, dual and penalty in G̃. Two agents at ±1 with no loss, ρ
	// = .5: the dual is ρ·2 = 1, the penalty's gradient at ψ = θ is 2ρ·1 = 1. Descending,
	// both step η·2 towards each other, ascending away.
	for ascend, want := range map[bool]float64{false: 1 - .1*2, true: 1 + .1*2} {
		a := alone(t, dinno(t, func(p *algo.DiNNOParams) { p.Ascend = ascend }), 1)
		view := &agent.View{SelfWeight: .5, In: []agent.Neighbor{{ID: 1, Weight: .5}}}
		var out agent.Output
		for _, in := range []agent.Input{
			{Kind: agent.Round, View: view, Inbox: []agent.Message{{From: 1, Body: tensor.Vec{-1}}}},
			{Kind: agent.Answer, View: view, Answer: tensor.Vec{0}},
		} {
			out.Reset()
			if err := a.Step(&in, &out); err != nil {
				t.Fatal(err)
			}
		}
		if got := float64(a.Params()[0]); math.Abs(got-want) > 1e-6 {
			t.Errorf("ascend = %v, without a loss: the first step ends at %g, want %g", ascend, got, want)
		}
	}
}

func TestDiNNOSelfProx(t *testing.T) {
	// Alone, from θ = 1 with answers 1: the first step has ψ = θ, where the extra term
	// vanishes; the second, at ψ = 1-η, adds 2ρ(ψ-θ) = -2ρη: ψ = 1 - η - η(1 - 2ρη) = 1 -
	// 2η + 2ρη².
	for self, want := range map[bool]float64{false: .8, true: 1 - .2 + 2*.5*.01} {
		f := dinno(t, func(p *algo.DiNNOParams) { p.PrimalSteps, p.SelfProx = 2, self })
		a := alone(t, f, 1)
		view := &agent.View{SelfWeight: 1}
		var out agent.Output
		for _, in := range []agent.Input{{Kind: agent.Round, View: view},
			{Kind: agent.Answer, View: view, Answer: tensor.Vec{1}},
			{Kind: agent.Answer, View: view, Answer: tensor.Vec{1}}} {
			out.Reset()
			if err := a.Step(&in, &out); err != nil {
				t.Fatal(err)
			}
		}
		if got := float64(a.Params()[0]); math.Abs(got-want) > 1e-6 {
			t.Errorf("self_prox = %v: %g, want %g", self, got, want)
		}
	}
}

func TestBadDiNNO(t *testing.T) {
	for key, edit := range map[string]func(*algo.DiNNOParams){
		"rho":          func(p *algo.DiNNOParams) { p.Rho = 0 },
		"rho_scale":    func(p *algo.DiNNOParams) { p.RhoScale = .9 },
		"rho_max":      func(p *algo.DiNNOParams) { p.RhoMax = .1 },
		"primal_steps": func(p *algo.DiNNOParams) { p.PrimalSteps = 0 },
		"optimizer":    func(p *algo.DiNNOParams) { p.Optimizer.Optimizer = "fresh" },
		"step_size":    func(p *algo.DiNNOParams) { p.StepSize.StepSize = -1 },
	} {
		_, err := algo.New("dinno", set(edit))
		var e *config.Error
		if !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: got %v", key, err)
		}
	}
}
