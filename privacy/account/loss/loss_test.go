package loss

import (
	"math"
	"math/big"
	"testing"
)

// TestFourierRoundOff checks the estimated round-off of composition against exact
// convolution in 200-bit arithmetic.
func TestFourierRoundOff(t *testing.T) {
	t.Parallel()
	const h, count = 0.05, 24
	// most of the mass in one cell, as Poisson sampling leaves it, and a tail
	one := Law{H: h, Off: -40, P: make([]float64, 121), Inf: 1e-12, Count: count}
	var all float64
	for i := range one.P {
		l := h * float64(one.Off+i)
		one.P[i] = .8*math.Exp(-(l+.2)*(l+.2)/5e-4) + .02*math.Exp(-(l-.5)*(l-.5)/.5)
		all += one.P[i]
	}
	for i := range one.P {
		one.P[i] *= (1 - one.Inf) / all
	}
	exact := []*big.Float{big.NewFloat(1).SetPrec(200)}
	for range count {
		next := make([]*big.Float, len(exact)+len(one.P)-1)
		for i := range next {
			next[i] = new(big.Float).SetPrec(200)
		}
		for i, x := range exact {
			for j, p := range one.P {
				next[i+j].Add(next[i+j], new(big.Float).SetPrec(200).Mul(x, big.NewFloat(p)))
			}
		}
		exact = next
	}
	profile := func(eps float64) (want float64) {
		for i, x := range exact {
			l := h * float64(count*one.Off+i)
			if v, _ := x.Float64(); l > eps {
				want += v * -math.Expm1(eps-l)
			}
		}
		return want
	}
	planned(t, one, profile)
	for _, lam := range []float64{0, 1, 4} {
		c, err := Convolve([]Law{one}, lam, 30)
		if err != nil {
			t.Fatal(err)
		}
		for _, eps := range []float64{1, 5, 10} {
			want := profile(eps) - math.Expm1(count*math.Log1p(-one.Inf))
			got, allowed := c.Delta(eps), (c.Err+2*c.wrap)*math.Exp(c.k-c.Lam*eps)+c.tau+2*c.round*want
			if got < want || got > want+2*allowed+1e-14*want {
				t.Errorf("lam %v eps %v: %v, exact %v, allowance %v", lam, eps, got, want, allowed)
			}
		}
	}
}

// planned checks windows that let mass wrap around, and round-off by its norm, at tilts
// that are and are not that of the tail.
func planned(t *testing.T, one Law, profile func(eps float64) float64) {
	t.Helper()
	for _, f := range []frame{{.5, 2, .5, -8, 30}, {1, 3, 1, -2, 16}, {3, 2, 1, 3, 14}, {6, 4, 2, 4, 15}} {
		c := convolveOn([]Law{one}, &plan{frame: f})
		for _, eps := range []float64{4.5, 6, 10} {
			var got float64
			for i, y := range c.y {
				if l := c.h * float64(c.start+i); l > eps {
					got += y * math.Exp(c.k-c.Lam*l) * -math.Expm1(eps-l)
				}
			}
			want, weight := profile(eps), math.Exp(c.k-c.Lam*eps)
			low := want*(1-c.round) - c.tau - c.Err*weight
			high := want*(1+c.round) + c.below + (c.wrap+c.Err)*weight
			if got < low || got > high {
				t.Errorf("%v eps %v: %v, exact %v, allowed %v to %v", f, eps, got, want, low, high)
			}
		}
	}
}
