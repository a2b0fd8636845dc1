package algo_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

func average(t *testing.T, edit func(*algo.AverageParams)) agent.Factory {
	t.Helper()
	return factory(t, "gossip-average", set(edit))
}

func TestAverageConformance(t *testing.T) {
	for _, acceleration := range []string{"plain", "chebyshev", "chebyshev-ns", "jacobi", "paper"} {
		f := average(t, func(p *algo.AverageParams) {
			switch p.Acceleration = acceleration; acceleration {
			case "plain":
			case "jacobi":
				p.Dimension = 1
			default:
				p.Rho = .85
			}
		})
		tolerance := 1e-4
		if acceleration == "jacobi" { // its error falls as 1/k² at best
			tolerance = 1e-2
		}
		t.Run(acceleration, func(t *testing.T) {
			agenttest.Run(t, agenttest.Options{Factory: f, Mean: true, Tolerance: tolerance})
		})
	}
}

// spread runs averaging on a ring of n from the values x and returns all agents' values
// after each round.
func spread(t *testing.T, f agent.Factory, n, rounds int, x func(i int) float64) [][]float64 {
	t.Helper()
	l := newLockstep(t, f, ring(n), uint64(rounds)+1, 0, func(i int, _ float32) float32 {
		return float32(x(i))
	})
	var after [][]float64
	for k := range rounds + 1 {
		l.round(t, uint64(k))
		after = append(after, l.theta())
	}
	if l.asked != n {
		t.Errorf("%d queries of %d agents, want one each", l.asked, n)
	}
	return after
}

// jacobiOf is P_k^{(D/2, 0)}(λ)/P_k^{(D/2, 0)}(1), what k rounds of Jacobi iteration make
// of an eigenvector (Berthier, Bach, Gaillard 2020, section 4): the explicit sum of
// Jacobi polynomials, not their recursion.
func jacobiOf(k int, d, lambda float64) float64 {
	binomial := func(n float64, j int) float64 {
		b := 1.
		for i := range j {
			b *= (n - float64(i)) / float64(i+1)
		}
		return b
	}
	p := func(x float64) float64 {
		sum := 0.
		for s := range k + 1 {
			sum += binomial(float64(k)+d/2, k-s) * binomial(float64(k), s) * math.Pow((x-1)/2, float64(s)) *
				math.Pow((x+1)/2, float64(k-s))
		}
		return sum
	}
	return p(lambda) / p(1)
}

// An eigenvector of the ring is multiplied by the polynomial of the method, and the mean
// is kept.
func TestAveragePolynomials(t *testing.T) {
	const n, rounds = 12, 14
	second := (1 + 2*math.Cos(2*math.Pi/n)) / 3
	gap := 1 - second
	paper := 2 * (1 - math.Sqrt(gap*(1-gap/4))) / math.Pow(1-gap/2, 2)
	rho := math.Sqrt(1 - math.Pow(2/paper-1, 2)) // at which chebyshev has the paper's ω
	for name, tc := range map[string]struct {
		edit func(*algo.AverageParams)
		of   func(k int, lambda float64) float64
	}{
		"plain": {func(p *algo.AverageParams) {}, func(k int, l float64) float64 {
			return math.Pow(l, float64(k))
		}},
		"chebyshev": {func(p *algo.AverageParams) { p.Rho = second }, func(k int, l float64) float64 {
			return secondOrderOf(k, second, l)
		}},
		"chebyshev-ns": {func(p *algo.AverageParams) { p.Rho = second }, func(k int, l float64) float64 {
			return chebyshevOf(k, second, l)
		}},
		"paper": {func(p *algo.AverageParams) { p.Rho = second }, func(k int, l float64) float64 {
			return secondOrderOf(k, rho, l)
		}},
		"jacobi": {func(p *algo.AverageParams) { p.Dimension = 1.5 }, func(k int, l float64) float64 {
			return jacobiOf(k, 1.5, l)
		}},
	} {
		for _, f := range []int{1, 2, 5} {
			mode := func(i int) float64 { return math.Cos(2 * math.Pi * float64(f*i) / n) }
			lambda := (1 + 2*math.Cos(2*math.Pi*float64(f)/n)) / 3
			after := spread(t, average(t, func(p *algo.AverageParams) {
				p.Acceleration = name
				tc.edit(p)
			}), n, rounds, func(i int) float64 { return 3 + mode(i) })
			for k, values := range after {
				want := 1.
				if k > 0 {
					want = tc.of(k, lambda)
				}
				for i, v := range values {
					if math.Abs(v-3-want*mode(i)) > 2e-5 {
						t.Fatalf("%s, mode %d, after %d rounds: agent %d has %.7g, want 3 %+.7g", name, f, k,
							i, v, want*mode(i))
					}
				}
			}
		}
	}
}

// Rounds until an impulse on a ring of 16 has spread to 1e-6: spec algorithms.md section
// 15, where a few rounds depend on the start.
func TestAverageRounds(t *testing.T) {
	const n = 16
	second := (1 + 2*math.Cos(2*math.Pi/n)) / 3
	for name, published := range map[string]int{"plain": 228, "paper": 60, "chebyshev": 47,
		"chebyshev-ns": 43} {
		f := average(t, func(p *algo.AverageParams) {
			if p.Acceleration = name; name != "plain" {
				p.Rho = second
			}
		})
		got := 0
		for k, values := range spread(t, f, n, 260, func(i int) float64 {
			return map[bool]float64{true: 1}[i == 0]
		}) {
			for _, v := range values {
				if math.Abs(v-1./n) > 1e-6 {
					got = k + 1
				}
			}
		}
		if math.Abs(float64(got-published)) > 5 {
			t.Errorf("%s: %d rounds to 1e-6, published %d", name, got, published)
		}
	}
}

// Starting from y^{-1} = 0 in place of y^0 multiplies the mean: 1.333, 1.647 and 2.101 at
// gaps of .4, .2 and .1. A mean m_k of all agents obeys m_{k+1} = ω m_k - (ω-1) m_{k-1},
// which from m_{-1} = 0 tends to 1/(2-ω).
func TestClaim40(t *testing.T) {
	for gap, published := range map[float64]float64{.4: 1.333, .2: 1.647, .1: 2.101} {
		mean := func(zero bool) float64 {
			f := average(t, func(p *algo.AverageParams) {
				p.Acceleration, p.Rho, p.ZeroStart = "paper", 1-gap, zero
			})
			after := spread(t, f, 8, 300, func(i int) float64 { return float64(i) })
			sum := 0.
			for _, v := range after[300] {
				sum += v / 8
			}
			return sum / 3.5
		}
		if got := mean(true); math.Abs(got-published) > 5e-4 {
			t.Errorf("gap %g: the mean is multiplied by %.4f, published code by %.3f", gap, got, published)
		}
		if got := mean(false); math.Abs(got-1) > 1e-5 {
			t.Errorf("gap %g: from y^0 the mean is multiplied by %.6f", gap, got)
		}
	}
}

// TestClaim45: the public code clips noisy values to [0, 1] before it averages them.
// Values 0 with noise 1 then have the mean phi(0) - phi(1) + P[Z > 1] = .3156, and
// averaging does not remove it. Here agents average what they are answered, as it is.
// Means of 20,000 agents, 5 standard errors: a false reject has probability below 2e-6.
func TestClaim45(t *testing.T) {
	const agents, rings = 50, 400
	r := rand.New(rand.NewPCG(45, 1))
	f := average(t, func(p *algo.AverageParams) { p.Acceleration = "plain" })
	mean := func(answer func(noisy float64) float64) float64 {
		sum := 0.
		for range rings {
			last := spread(t, f, agents, 3, func(int) float64 { return answer(r.NormFloat64()) })[3]
			for _, v := range last {
				sum += v / (agents * rings)
			}
		}
		return sum
	}
	plain := mean(func(noisy float64) float64 { return noisy })
	clipped := mean(func(noisy float64) float64 { return math.Max(0, math.Min(1, noisy)) })
	want := (1-math.Exp(-.5))/math.Sqrt(2*math.Pi) + math.Erfc(1/math.Sqrt2)/2
	if math.Abs(want-.3156) > 5e-5 {
		t.Errorf("closed form %v, want .3156", want)
	}
	tolerance := 5 / math.Sqrt(agents*rings)
	if math.Abs(clipped-want) > tolerance || math.Abs(plain) > tolerance {
		t.Errorf("means %v clipped and %v not, want %v and 0 within %v", clipped, plain, want, tolerance)
	}
}

// What the accountant gets is what the agents average with: the paper's ω at λ_2 = 0 is
// 2(1 - √(3/4))/(1/2)² = 8 - 4√3, also where rounding leaves λ_2 a little below; every
// round keeps the mean.
func TestRecursionCoefficients(t *testing.T) {
	for _, second := range []float64{0, -1e-17} {
		all, err := algo.Recursion{Acceleration: "paper"}.Coefficients(
			agent.Env{Graph: agent.Graph{Lambda2: second}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if omega := 8 - 4*math.Sqrt(3); all[0] != [3]float64{1, 0, 0} || math.Abs(all[2][0]-omega) > 1e-12 {
			t.Errorf("λ_2 = %v: %v, want ω = %v", second, all, omega)
		}
	}
	if all, err := (algo.Recursion{Acceleration: "plain"}).Coefficients(agent.Env{}, 3); all != nil ||
		err != nil {
		t.Errorf("plain: %v, %v", all, err)
	}
	for _, name := range []string{"chebyshev", "chebyshev-ns", "jacobi", "paper"} {
		r := algo.Recursion{Acceleration: name}
		if name == "jacobi" {
			r.Dimension = 1.5
		}
		all, err := r.Coefficients(agent.Env{Graph: agent.Graph{SLEM: .9, Lambda2: .8}}, 6)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range all {
			if math.Abs(c[0]+c[1]-c[2]-1) > 1e-12 {
				t.Errorf("%s, round %d: %v does not keep the mean", name, k, c)
			}
		}
		f := average(t, func(p *algo.AverageParams) { p.Acceleration, p.Dimension = name, r.Dimension })
		a, err := f(agent.Env{Dim: 1, Init: tensor.Vec{0}, Graph: agent.Graph{SLEM: .9, Lambda2: .8}})
		if err != nil {
			t.Fatal(err)
		}
		if own := a.(*algo.GossipAverage).Coefficients(6); !slices.Equal(own, all) {
			t.Errorf("%s: the agent has %v, the accountant %v", name, own, all)
		}
	}
	var bad *config.Error
	for key, r := range map[string]algo.Recursion{"acceleration": {Acceleration: "fast"},
		"spectral_dimension": {Acceleration: "jacobi"}} {
		if _, err := r.Coefficients(agent.Env{}, 1); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestAverageBadParameters(t *testing.T) {
	for key, edit := range map[string]func(p *algo.AverageParams){
		"acceleration":       func(p *algo.AverageParams) { p.Acceleration = "fast" },
		"rho":                func(p *algo.AverageParams) { p.Acceleration, p.Rho = "jacobi", .5 },
		"spectral_dimension": func(p *algo.AverageParams) { p.Acceleration = "jacobi" },
	} {
		_, err := algo.New("gossip-average", set(edit))
		var e *config.Error
		if !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: got %v", key, err)
		}
	}
	f := average(t, func(p *algo.AverageParams) { p.Acceleration = "paper" })
	var e *config.Error
	if _, err := f(agent.Env{Dim: 1, Init: tensor.Vec{0},
		Graph: agent.Graph{SLEM: 1, Lambda2: 1}}); !errors.As(err, &e) ||
		e.Key != "acceleration" {
		t.Errorf("acceleration without a spectrum: %v", err)
	}
}
