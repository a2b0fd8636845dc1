package algo_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/privacy"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

func TestWalkConformance(t *testing.T) {
	for name, edit := range map[string]func(*algo.WalkParams){
		"noise":      func(*algo.WalkParams) {},
		"nothing":    func(p *algo.WalkParams) { p.After, p.Contributions = "nothing", 100 },
		"projection": func(p *algo.WalkParams) { p.Radius = 1 },
		"record":     func(p *algo.WalkParams) { p.Oracle = "grad-full" },
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.RunTokens(t, agenttest.TokenOptions{Factory: factory(t, "walk", set(edit))})
		})
	}
}

// targetGate answers with the gradient θ - target of a quadratic, and counts. Noise alone
// is 0.
type targetGate struct {
	target tensor.Vec
	budget int // answers that it has; -1 for any number
	given  int
	blank  int
}

func (*targetGate) Begin(uint64, []agent.Neighbor) {}

func (p *targetGate) Answer(q *agent.Query, dst tensor.Vec) error {
	dst.Zero()
	if q.Oracle == "zero" {
		p.blank++
		return nil
	}
	if p.given == p.budget {
		return privacy.ErrExhausted
	}
	p.given++
	for i := range dst {
		dst[i] = q.At[i] - p.target[i]
	}
	return nil
}

// visitsOf is how many tokens an agent has held.
func visitsOf(s sim.Runtime, i int) uint64 { return s.(interface{ Visits(int) uint64 }).Visits(i) }

// quadratics runs tokens over a complete graph of agents with these targets; it returns
// the simulation and the gates.
func walkOnQuadratics(t *testing.T, targets []tensor.Vec, steps uint64, tokens, budget int,
	edit func(*algo.WalkParams)) (sim.Runtime, []*targetGate) {
	t.Helper()
	n := len(targets)
	schedule, err := topology.New("complete", "metropolis", n, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	f := factory(t, "walk", set(edit))
	cfg := sim.Config{
		Schedule: schedule,
		Dim:      len(targets[0]),
		Pacing:   agent.PacingTokens,
		Steps:    steps,
		Workers:  1,
		Seed:     1,
		Tokens:   sim.TokenOptions{Count: tokens, Init: make(tensor.Vec, len(targets[0])), Secret: 2},
	}
	var gates []*targetGate
	for i := range n {
		a, err := f(agent.Env{
			Self:   agent.ID(i),
			Agents: n,
			Dim:    cfg.Dim,
			Rounds: steps,
			Turns:  agent.Turns{Tokens: tokens},
			Init:   cfg.Tokens.Init,
		})
		if err != nil {
			t.Fatal(err)
		}
		gate := &targetGate{target: targets[i], budget: budget}
		gates = append(gates, gate)
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: a, Gate: gate})
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), steps); err != nil {
		t.Fatal(err)
	}
	return s, gates
}

// A walk over one agent is gradient descent: θ_t = a (1 - (1-γ)^t) on (θ-a)²/2 from zero.
func TestWalkOfOneAgentIsSGD(t *testing.T) {
	const steps, gamma = 40, .05
	s, gates := walkOnQuadratics(t, []tensor.Vec{{3, -2}}, steps, 1, -1, func(p *algo.WalkParams) {
		p.StepSize.StepSize, p.Contributions = gamma, steps
	})
	for i, a := range []float64{3, -2} {
		want := a * (1 - math.Pow(1-gamma, steps))
		if got := float64(s.Model(0)[i]); math.Abs(got-want) > 5e-6*math.Abs(want) {
			t.Errorf("coordinate %d is %g, want %g", i, got, want)
		}
	}
	if gates[0].given != steps {
		t.Errorf("%d answers in %d steps", gates[0].given, steps)
	}
}

// With γ_t = 1/(1+t) a token holds the mean of the targets of all its visits. Over T
// uniform visits that is the minimiser of the mean loss within a standard deviation of
// sd(a)/sqrt(T) (5 of them: false-reject rate 6e-7); it agrees with the counts of the
// visits exactly.
func TestWalkConverges(t *testing.T) {
	const steps = 20000
	targets := []tensor.Vec{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}
	s, gates := walkOnQuadratics(t, targets, steps, 3, -1, func(p *algo.WalkParams) {
		p.StepSize = algo.StepSize{StepSize: 1, Schedule: "inverse", StepSizeTau: 1}
		p.Contributions = 3 * steps
	})
	sd := math.Sqrt(21. / 4)
	mean, all := 0., 0
	for k := range 3 {
		if got := float64(s.Model(k)[0]); math.Abs(got-3.5) > 5*sd/math.Sqrt(steps) {
			t.Errorf("token %d ends at %g, the minimiser is 3.5", k, got)
		}
		mean += float64(s.Model(k)[0]) / 3
	}
	want := 0.
	for i, g := range gates {
		want += float64(g.given) * float64(targets[i][0]) / (3 * steps)
		all += g.given
	}
	if all != 3*steps || math.Abs(mean-want) > 1e-3 {
		t.Errorf("%d answers in %d steps, mean %g of visits of mean %g", all, 3*steps, mean, want)
	}
}

// An agent gives N_max answers over all tokens and no more; then it asks for noise alone,
// or for nothing.
func TestWalkContributions(t *testing.T) {
	targets := []tensor.Vec{{1}, {1}, {1}, {1}}
	const steps, tokens, most = 200, 2, 30
	for _, after := range []string{"noise", "nothing"} {
		for _, budget := range []int{-1, 11} {
			s, gates := walkOnQuadratics(t, targets, steps, tokens, budget, func(p *algo.WalkParams) {
				p.Contributions, p.After = most, after
			})
			for i, g := range gates {
				want := most
				if budget > 0 {
					want = budget
				}
				blank := int(visitsOf(s, i)) - want
				if after == "nothing" {
					blank = 0
				}
				if g.given != want || g.blank != blank {
					t.Errorf("after %s, budget %d, agent %d: %d answers and %d of noise alone in %d visits",
						after, budget, i, g.given, g.blank, visitsOf(s, i))
				}
			}
		}
	}
	a, err := factory(t, "walk", func(any) error {
		return nil
	})(agent.Env{Agents: 2000, Rounds: 20000, Turns: agent.Turns{Tokens: 3}, Dim: 1, Init: tensor.Vec{0}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.(*algo.Walk).Contributions(); got != 38 { // 1.25 × 60,000 / 2,000 = 37.5
		t.Errorf("%d contributions by default, want 38", got)
	}
}

// The projection keeps every token in the ball, and the replicated clip bounds a step by
// γ times it.
func TestWalkBounds(t *testing.T) {
	far := []tensor.Vec{{300, 400}}
	s, _ := walkOnQuadratics(t, far, 50, 1, -1, func(p *algo.WalkParams) {
		p.Radius, p.Contributions = 2, 50
	})
	if got := s.Model(0); math.Abs(float64(got[0])-1.2) > 1e-5 || math.Abs(float64(got[1])-1.6) > 1e-5 {
		t.Errorf("the projection of (300, 400) onto the ball of radius 2 is %v, want (1.2, 1.6)", got)
	}
	s, _ = walkOnQuadratics(t, far, 50, 1, -1, func(p *algo.WalkParams) {
		p.AnswerClip, p.Contributions = .4, 50
	})
	if got := s.Model(0).Norm(); math.Abs(got-50*.1*.4) > 1e-5 {
		t.Errorf("50 steps of .1 with answers of norm .4 came to %g, want 2", got)
	}
}

func TestWalkRefuses(t *testing.T) {
	for key, edit := range map[string]func(*algo.WalkParams){
		"step_size":     func(p *algo.WalkParams) { p.StepSize.StepSize = -1 },
		"schedule":      func(p *algo.WalkParams) { p.Schedule = "never" },
		"contributions": func(p *algo.WalkParams) { p.Contributions = 1 << 31 },
		"after":         func(p *algo.WalkParams) { p.After = "sleep" },
		"radius":        func(p *algo.WalkParams) { p.Radius = math.NaN() },
	} {
		_, err := algo.New("walk", set(edit))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}
