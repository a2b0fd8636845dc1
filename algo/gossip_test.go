package algo_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

func gossip(t *testing.T, edit func(*algo.GossipParams)) agent.Factory {
	t.Helper()
	return factory(t, "gossip-sgd", set(edit))
}

func TestGossipConformance(t *testing.T) {
	for _, acceleration := range []string{"plain", "chebyshev", "chebyshev-ns"} {
		f := gossip(t, func(p *algo.GossipParams) {
			if p.Acceleration, p.Gossip, p.Momentum = acceleration, 3, .5; acceleration != "plain" {
				p.Rho = .7
			}
		})
		t.Run(acceleration, func(t *testing.T) { agenttest.Run(t, agenttest.Options{Factory: f}) })
	}
}

// chebyshevOf is T_k(λ/ρ)/T_k(1/ρ), what k rounds with the best ω_k make of an
// eigenvector (Golub, Varga 1961): an explicit polynomial, not the recursion.
func chebyshevOf(k int, rho, lambda float64) float64 {
	t := func(x float64) float64 {
		if math.Abs(x) <= 1 {
			return math.Cos(float64(k) * math.Acos(x))
		}
		v := math.Cosh(float64(k) * math.Acosh(math.Abs(x)))
		if x < 0 && k%2 == 1 {
			v = -v
		}
		return v
	}
	return t(lambda/rho) / t(1/rho)
}

// secondOrderOf is what k rounds with ω make of an eigenvector: r^k (1 + a k) with the
// double root r of z² - ωλz + ω-1 at |λ| = ρ, else r^k (cos kφ + b sin kφ); it solves the
// recursion for y^0 = 1, y^1 = λ.
func secondOrderOf(k int, rho, lambda float64) float64 {
	omega := 2 / (1 + math.Sqrt(1-rho*rho))
	d := omega*omega*lambda*lambda/4 - (omega - 1)
	half := omega * lambda / 2
	if d > 1e-12 { // real roots: λ = 1
		r1, r2 := half+math.Sqrt(d), half-math.Sqrt(d)
		c := (lambda - r2) / (r1 - r2)
		return c*math.Pow(r1, float64(k)) + (1-c)*math.Pow(r2, float64(k))
	}
	r := math.Sqrt(omega - 1)
	phi := math.Acos(max(-1, min(1, half/r)))
	if s := math.Sin(phi); math.Abs(s) > 1e-6 {
		b := (lambda/r - math.Cos(phi)) / s
		return math.Pow(r, float64(k)) * (math.Cos(float64(k)*phi) + b*math.Sin(float64(k)*phi))
	}
	sign := 1.
	if half < 0 {
		sign = -1
	}
	return math.Pow(sign*r, float64(k)) * (1 + (lambda/(sign*r)-1)*float64(k))
}

// With noise off and a constant step the fixed point of θ = M (θ - ηH(θ - b)) is reached,
// where M is the polynomial of W that K rounds of averaging amount to. For K = 1 it is
// that of DP-DSGD which adapts, then combines.
func TestGossipFixedPoint(t *testing.T) {
	const eta, n = .2, 5
	w := ring(n)
	rho := math.Abs((1 + 2*math.Cos(2*math.Pi/n)) / 3)
	for _, tc := range []struct {
		acceleration string
		k            int
		polynomial   func(k int, lambda float64) float64
	}{
		{"plain", 1, func(k int, l float64) float64 { return l }},
		{"plain", 4, func(k int, l float64) float64 { return math.Pow(l, float64(k)) }},
		{"chebyshev", 1, func(k int, l float64) float64 { return l }},
		{"chebyshev", 4, func(k int, l float64) float64 { return secondOrderOf(k, rho, l) }},
		{"chebyshev-ns", 2, func(k int, l float64) float64 { return chebyshevOf(k, rho, l) }},
		{"chebyshev-ns", 5, func(k int, l float64) float64 { return chebyshevOf(k, rho, l) }},
	} {
		f := gossip(t, func(p *algo.GossipParams) {
			p.StepSize.StepSize, p.Gossip, p.Acceleration = eta, uint64(tc.k), tc.acceleration
			if tc.acceleration != "plain" {
				p.Rho = rho
			}
		})
		rounds := uint64(200*tc.k + 1)
		l := newLockstep(t, f, w, rounds, 4, quadratic)
		for k := range rounds {
			l.round(t, k)
		}
		if want := n * 200; l.asked != want {
			t.Errorf("%s %d: %d queries, want %d", tc.acceleration, tc.k, l.asked, want)
		}
		// M has the eigenvectors of the ring, cosines and sines.
		m := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				v := 0.
				for f := range n {
					angle := 2 * math.Pi * float64(f) / n
					v += tc.polynomial(tc.k, (1+2*math.Cos(angle))/3) * math.Cos(angle*float64(i-j)) / n
				}
				m.Set(i, j, v)
			}
		}
		a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for i := range n {
			for j := range n {
				v := -m.At(i, j) * (1 - eta*curvature[j])
				if i == j {
					v++
				}
				a.Set(i, j, v)
				b.SetVec(i, b.AtVec(i)+m.At(i, j)*eta*curvature[j]*minimum[j])
			}
		}
		var want mat.VecDense
		if err := want.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		for i, got := range l.theta() {
			if math.Abs(got-want.AtVec(i)) > 1e-5*(1+math.Abs(got)) {
				t.Errorf("%s, %d rounds, agent %d: %.9g, the linear system gives %.9g", tc.acceleration, tc.k,
					i, got, want.AtVec(i))
			}
		}
	}
}

// From two eigenvectors of a ring of 16, disagreement falls to 1e-4 after as many rounds
// as the polynomials say.
func TestGossipRoundsToConsensus(t *testing.T) {
	const n = 16
	slow, fast := (1+2*math.Cos(2*math.Pi/n))/3, (1+2*math.Cos(6*math.Pi/n))/3
	for acceleration, polynomial := range map[string]func(k int, l float64) float64{
		"plain":        func(k int, l float64) float64 { return math.Pow(l, float64(k)) },
		"chebyshev":    func(k int, l float64) float64 { return secondOrderOf(k, slow, l) },
		"chebyshev-ns": func(k int, l float64) float64 { return chebyshevOf(k, slow, l) },
	} {
		f := gossip(t, func(p *algo.GossipParams) {
			if p.StepSize.StepSize, p.Gossip, p.Acceleration = 1, 1000,
				acceleration; acceleration != "plain" {
				p.Rho = slow
			}
		})
		// One gradient step from 0 with answer -x makes x the agents' values.
		x := func(i int) float64 {
			return math.Cos(2*math.Pi*float64(i)/n) + .5*math.Sin(6*math.Pi*float64(i)/n)
		}
		l := newLockstep(t, f, ring(n), 1001, 0, func(i int, _ float32) float32 { return float32(-x(i)) })
		var got, want int
		for k := range uint64(400) {
			l.round(t, k)
			left, start := 0., 0.
			for i, v := range l.theta() {
				left += v * v
				start += x(i) * x(i)
			}
			if got = int(k); k > 0 && math.Sqrt(left/start) <= 1e-4 {
				break
			}
		}
		for want = 1; math.Hypot(polynomial(want, slow), .5*polynomial(want, fast))/math.Hypot(1, .5) >
			1e-4; want++ {
		}
		if got != want {
			t.Errorf("%s: %d rounds, want %d", acceleration, got, want)
		}
	}
}

func TestGossipBadParameters(t *testing.T) {
	for key, decode := range map[string]func(any) error{
		"gossip":       set(func(p *algo.GossipParams) { p.Gossip = 0 }),
		"acceleration": set(func(p *algo.GossipParams) { p.Acceleration = "fast" }),
		"rho":          set(func(p *algo.GossipParams) { p.Rho, p.Acceleration = 1, "chebyshev" }),
		"weight_decay": set(func(p *algo.GossipParams) { p.WeightDecay = -1 }),
		"momentum":     set(func(p *algo.GossipParams) { p.Momentum = 1 }),
	} {
		_, err := algo.New("gossip-sgd", decode)
		var e *config.Error
		if !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: got %v", key, err)
		}
	}
	f := gossip(t, func(p *algo.GossipParams) { p.Acceleration = "chebyshev" })
	var e *config.Error
	if _, err := f(agent.Env{Dim: 1, Init: tensor.Vec{0}, Graph: agent.Graph{SLEM: 1}}); !errors.As(err,
		&e) ||
		e.Key != "acceleration" {
		t.Errorf("acceleration without a spectrum: %v", err)
	}
}

func ExampleNewGossipSGD() {
	f, _ := algo.NewGossipSGD(func(params any) error {
		params.(*algo.GossipParams).Gossip = 20
		return nil
	})
	a, _ := f(agent.Env{Agents: 2, Dim: 1, Rounds: 40, Init: tensor.Vec{4}})
	view, asked := &agent.View{SelfWeight: 1}, 0
	var out agent.Output
	for k := range uint64(40) {
		out.Reset()
		a.Step(&agent.Input{Kind: agent.Round, Round: k, View: view}, &out)
		if out.Query != nil {
			asked++
			a.Step(&agent.Input{Kind: agent.Answer, Round: k, View: view, Answer: tensor.Vec{0}}, &out)
		}
	}
	fmt.Println(asked, "private answers in 40 rounds")
	// Output: 2 private answers in 40 rounds
}
