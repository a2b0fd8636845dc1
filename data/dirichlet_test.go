package data

import (
	"math"
	"testing"
)

// Shares of Dirichlet(β·1_n) have mean 1/n and variance (n-1)/(n²(nβ+1)). 20,000 draws:
// mean and variance of the first share within 5 standard errors, the latter from the
// sample's fourth moment; false reject below 1e-5 for a fresh seed, and the seed is
// fixed.
func TestDirichletMoments(t *testing.T) {
	const n, draws = 5, 20_000
	for _, beta := range []float64{.05, .5, 1, 10} {
		r := source(11)
		var s, s2, s4 float64
		for range draws {
			shares := drawDirichlet(r, n, beta)
			var sum float64
			for _, x := range shares {
				sum += x
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("beta %v: shares sum to %v", beta, sum)
			}
			d := shares[0] - 1./n
			s, s2, s4 = s+d, s2+d*d, s4+d*d*d*d
		}
		variance := (n - 1.) / (n * n * (n*beta + 1))
		if se := math.Sqrt(variance / draws); math.Abs(s/draws) > 5*se {
			t.Errorf("beta %v: mean is off by %v, standard error %v", beta, s/draws, se)
		}
		if se := math.Sqrt((s4/draws - variance*variance) / draws); math.Abs(s2/draws-variance) > 5*se {
			t.Errorf("beta %v: variance %v, want %v, standard error %v", beta, s2/draws, variance, se)
		}
	}
	// Concentrations at the ends of the range give shares, not NaN.
	for _, beta := range []float64{1e-6, 1e6} {
		for _, x := range drawDirichlet(source(1), n, beta) {
			if !(x >= 0 && x <= 1) {
				t.Errorf("beta %v: share %v", beta, x)
			}
		}
	}
}

func TestAllot(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		count  int
		want   []int
	}{
		{[]float64{.5, .25, .25}, 10, []int{6, 2, 2}},
		{[]float64{0, 1}, 7, []int{0, 7}},
		{[]float64{.1, .2, .7}, 0, []int{0, 0, 0}},
	} {
		got := allot(c.shares, c.count)
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("allot(%v, %d) = %v, want %v", c.shares, c.count, got, c.want)
			}
		}
	}
}
