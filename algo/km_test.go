package algo_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

func TestKMConformance(t *testing.T) {
	for _, operator := range []string{"forward", "douglas-rachford"} {
		for _, own := range []bool{false, true} {
			f := factory(t, "km", set(func(p *algo.KMParams) {
				p.Operator, p.PrivateIterate = operator, own
			}))
			agenttest.Run(t, agenttest.Options{Factory: f})
		}
	}
}

// kmWorld steps n agents on a Metropolis ring for rounds with residual r and returns
// their x.
func kmWorld(t *testing.T, n, rounds int, start func(i int) float32, lowest float64,
	r func(i int, x float32) float32, edit func(*algo.KMParams)) []float64 {
	t.Helper()
	f := factory(t, "km", set(edit))
	algs, sent := make([]agent.Algorithm, n), make([]tensor.Vec, n)
	step := func(i int, in agent.Input) tensor.Vec {
		var out agent.Output
		for {
			out.Reset()
			if err := algs[i].Step(&in, &out); err != nil {
				t.Fatal(err)
			}
			if out.Query == nil {
				return tensor.Vec{out.Outbox[0].Body[0]}
			}
			in.Kind, in.Answer = agent.Answer, tensor.Vec{r(i, out.Query.At[0])}
		}
	}
	for i := range n {
		a, err := f(agent.Env{
			Self:   agent.ID(i),
			Agents: n,
			Dim:    1,
			Init:   tensor.Vec{start(i)},
			Graph:  agent.Graph{LambdaMin: lowest},
		})
		if err != nil {
			t.Fatal(err)
		}
		algs[i] = a
		sent[i] = step(i, agent.Input{Kind: agent.Start})
	}
	for k := range rounds {
		next := make([]tensor.Vec, n)
		for i := range n {
			l, h := agent.ID((i+n-1)%n), agent.ID((i+1)%n)
			if h < l {
				l, h = h, l
			}
			view := &agent.View{SelfWeight: 1. / 3,
				In: []agent.Neighbor{{ID: l, Weight: 1. / 3}, {ID: h, Weight: 1. / 3}}}
			next[i] = step(i, agent.Input{
				Kind:  agent.Round,
				Round: uint64(k),
				View:  view,
				Inbox: []agent.Message{{From: l, Body: sent[l]}, {From: h, Body: sent[h]}},
			})
		}
		sent = next
	}
	x := make([]float64, n)
	for i, s := range sent {
		x[i] = float64(s[0])
	}
	return x
}

// T = -I on a ring of four with Metropolis weights, whose smallest eigenvalue is -1/3
// with the eigenvector (1, -1, 1, -1): that start is multiplied by -1/3 - 2α in every
// round. Up to α = (1+λ_n)/2 = 1/3 it does not grow; at 1.05 times that it grows by
// 1.0333.
func TestKMAlphaBound(t *testing.T) {
	alternating := func(i int) float32 { return float32(1 - 2*(i%2)) }
	minus := func(_ int, x float32) float32 { return -2 * x }
	for _, c := range []struct {
		alpha, want float64
	}{{1. / 3, 1}, {1.05 / 3, math.Pow(1./3+2.1/3, 200)}, {.3, math.Pow(1./3+.6, 200)}} {
		x := kmWorld(t, 4, 200, alternating, -1./3, minus, func(p *algo.KMParams) {
			p.Alpha, p.Unsafe = c.alpha, true
		})
		for _, v := range x {
			if math.Abs(math.Abs(v)/c.want-1) > 1e-3 {
				t.Errorf("alpha %.3f: %v after 200 rounds, want %.4g in size", c.alpha, x, c.want)
			}
		}
	}
	env := agent.Env{Agents: 4, Dim: 1, Init: tensor.Vec{0}, Graph: agent.Graph{LambdaMin: -1. / 3}}
	if _, err := factory(t, "km", set(func(p *algo.KMParams) { p.Alpha = 1. / 3 }))(env); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	for _, c := range []struct{ alpha, lowest float64 }{{.334, -1. / 3}, {0, -1}} {
		env.Graph.LambdaMin = c.lowest
		_, err := factory(t, "km", set(func(p *algo.KMParams) { p.Alpha = c.alpha }))(env)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "alpha" {
			t.Errorf("alpha %g with the eigenvalue %g: %v, want a config.Error on alpha", c.alpha, c.lowest,
				err)
		}
	}
}

// With residuals -γh_i(x - b_i) the agents end where ((I-W) + αγH) x = αγHb, to single
// precision; with the inverse schedule they come together at the common minimiser, within
// what α_k leaves: (Σ h_i b_i)/(Σ h_i) here 1.
func TestKMFixedPoint(t *testing.T) {
	const n, gamma = 5, .5
	h, b := []float64{1, 2, .5, 1, 1.5}, []float64{1, 2, -1, 0, 1}
	r := func(i int, x float32) float32 { return float32(-gamma * h[i] * (float64(x) - b[i])) }
	zero := func(int) float32 { return 0 }
	for _, alpha := range []float64{.3, .03} {
		a, right := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for i := range n {
			a.Set(i, i, 2./3+alpha*gamma*h[i])
			a.Set(i, (i+1)%n, -1./3)
			a.Set(i, (i+n-1)%n, -1./3)
			right.SetVec(i, alpha*gamma*h[i]*b[i])
		}
		var want mat.VecDense
		if err := want.SolveVec(a, right); err != nil {
			t.Fatal(err)
		}
		x := kmWorld(t, n, 3000, zero, -.21, r, func(p *algo.KMParams) { p.Alpha = alpha })
		for i, v := range x {
			if math.Abs(v-want.AtVec(i)) > 1e-5 {
				t.Errorf("alpha %g: agent %d ends at %v, want %v", alpha, i, v, want.AtVec(i))
			}
		}
	}
	x := kmWorld(t, n, 20_000, zero, -.21, r, func(p *algo.KMParams) {
		p.Alpha, p.Schedule, p.AlphaTau = .39, "inverse", 20
	})
	for i, v := range x {
		if math.Abs(v-1) > 2e-3 {
			t.Errorf("inverse schedule: agent %d ends at %v, want 1", i, v)
		}
	}
}

func TestKMRefuses(t *testing.T) {
	for key, edit := range map[string]func(*algo.KMParams){
		"operator":       func(p *algo.KMParams) { p.Operator = "admm" },
		"gamma":          func(p *algo.KMParams) { p.Gamma = math.Inf(1) },
		"l1":             func(p *algo.KMParams) { p.L1 = .1 },
		"residual_clip":  func(p *algo.KMParams) { p.ResidualClip = -1 },
		"alpha":          func(p *algo.KMParams) { p.Alpha = 1.1 },
		"alpha_schedule": func(p *algo.KMParams) { p.Schedule = "cosine" },
		"alpha_tau":      func(p *algo.KMParams) { p.Schedule = "inverse" },
	} {
		_, err := algo.New("km", set(edit))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v, want a config.Error on it", key, err)
		}
	}
}
