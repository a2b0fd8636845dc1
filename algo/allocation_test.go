package algo_test

import (
	"math"
	"testing"

	"sotto/algo"
)

// The factors make noise proportional to C^(-(T-1-t)/root), which is the optimum of spec
// 7; the ratios of final errors to those of an equal split, for T = 100 with one agent
// and basic composition, were computed for the specification.
func TestClaim17(t *testing.T) {
	const T = 100
	wakes := make([]uint64, T)
	for i := range wakes {
		wakes[i] = uint64(i)
	}
	for _, c := range []struct {
		contraction, paper, late float64
	}{{.99, 1.085, .973}, {.95, 4.23, .567}, {.9, 51.4, .222}} {
		ratio := func(alloc string) float64 {
			a := algo.Allocation{Alloc: alloc, Contraction: c.contraction, Root: 3}
			f := a.Factors(T, wakes, 1, T)
			budget := 0. // Σ 1/noise is what basic composition spends
			for _, x := range f {
				budget += 1 / x
			}
			weighted, equal := 0., 0.
			for t, x := range f {
				w := math.Pow(c.contraction, float64(T-1-t))
				s := x * budget / T // noise at the budget that an equal split of noise 1 spends
				weighted, equal = weighted+w*s*s, equal+w
			}
			return weighted / equal
		}
		if got := ratio("paper"); math.Abs(got/c.paper-1) > 2e-3 {
			t.Errorf("C = %g: the published allocation's error is %.4g of an equal split's, want %g",
				c.contraction, got, c.paper)
		}
		if got := ratio("late"); math.Abs(got/c.late-1) > 2e-3 {
			t.Errorf("C = %g: the corrected allocation's error is %.4g of an equal split's, want %g",
				c.contraction, got, c.late)
		}
		if got := ratio("expected"); math.Abs(got/c.late-1) > 2e-3 {
			t.Errorf("C = %g: with one agent the expected wakes are the wakes, ratio %.4g, want %g",
				c.contraction, got, c.late)
		}
	}
}

// The recursion P_{t+1} = C P_t + b_t unrolls to Σ C^(T-1-t) b_t: noise of the last wake
// enters with weight 1, where the published bound has C^(T-1).
func TestClaim16(t *testing.T) {
	const T, c = 50, .9
	for at := range T {
		p := 0.
		for k := range T {
			b := 0.
			if k == at {
				b = 1
			}
			p = c*p + b
		}
		if want := math.Pow(c, float64(T-1-at)); math.Abs(p-want) > 1e-12 {
			t.Fatalf("noise at wake %d has weight %g, want %g", at, p, want)
		}
		if published := math.Pow(c, float64(at)); at == T-1 && !(p > 100*published) {
			t.Errorf("noise of the last wake weighs %g, the published bound %g", p, published)
		}
	}
	// The optimum for the published weights is what alloc paper does: on the true weights
	// it is worse than doing nothing, on its own it is not.
	wakes := make([]uint64, T)
	for i := range wakes {
		wakes[i] = uint64(i)
	}
	score := func(alloc string, weight func(k int) float64) float64 {
		a := algo.Allocation{Alloc: alloc, Contraction: c, Root: 3}
		f, budget, sum := a.Factors(T, wakes, 1, T), 0., 0.
		for _, x := range f {
			budget += 1 / x
		}
		for k, x := range f {
			sum += weight(k) * x * x * budget * budget / T / T
		}
		return sum
	}
	truth := func(k int) float64 { return math.Pow(c, float64(T-1-k)) }
	published := func(k int) float64 { return math.Pow(c, float64(k)) }
	if !(score("late", truth) < score("equal", truth) && score("equal", truth) < score("paper", truth)) {
		t.Error("on the true weights late, equal, paper is not the order of errors")
	}
	if !(score("paper", published) < score("equal", published)) {
		t.Error("on the published weights their own optimum is worse than an equal split")
	}
}
