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
	for _, lam := range []float64{0, 1, 4} {
		c, err := Convolve([]Law{one}, lam, 30)
		if err != nil {
			t.Fatal(err)
		}
		for _, eps := range []float64{1, 5, 10} {
			var want float64
			for i, x := range exact {
				l := h * float64(count*one.Off+i)
				if v, _ := x.Float64(); l > eps {
					want += v * -math.Expm1(eps-l)
				}
			}
			want += -math.Expm1(count * math.Log1p(-one.Inf))
			got, allowed := c.Delta(eps), (c.Err+2*c.wrap)*math.Exp(c.k-c.Lam*eps)+c.tau+2*c.round*want
			if got < want || got > want+2*allowed+1e-14*want {
				t.Errorf("lam %v eps %v: %v, exact %v, allowance %v", lam, eps, got, want, allowed)
			}
		}
	}
}
