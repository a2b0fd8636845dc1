package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"sotto/privacy/account/gdp"
)

// oneRun is the largest epsilon with p(epsilon) <= level, or a value of at most best
// where that one is not above best (Steinke, Nasr, Jagielski 2023).
func oneRun(t *tally, level, delta, best float64) float64 {
	canaries, right, guesses := t.in+t.absent, t.in-t.missed, t.in-t.missed+t.wrong
	return falsified(best, func(eps float64) bool {
		return oneRunP(canaries, guesses, right, eps, delta) <= level
	})
}

// falsified is the largest epsilon above best for which the test rejects the claim, to
// 1e-7; best where it does not reject best.
func falsified(best float64, rejects func(eps float64) bool) float64 {
	if !rejects(best) {
		return best
	}
	lo, hi := best, max(1, 2*best)
	for rejects(hi) {
		lo, hi = hi, 2*hi
		if hi > 1000 {
			return lo
		}
	}
	for hi-lo > 1e-7 {
		if mid := lo + (hi-lo)/2; rejects(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// oneRunP is the probability with which an (epsilon, delta)-private run lets v or more of
// r guesses about m canaries be right, at most: P[Bin(r, 1/(1+e^-eps)) >= v] + 2 m delta
// max_{i=1..v} P[v-i <= Bin < v]/i.
func oneRunP(m, r, v int, eps, delta float64) float64 {
	p := 1 / (1 + math.Exp(-eps))
	beta := 1.
	if v > 0 {
		beta = mathext.RegIncBeta(float64(v), float64(r-v+1), p)
	}
	if delta == 0 || v == 0 {
		return beta
	}
	// The average of P[Bin = v-1], P[Bin = v-2], ... over the first i of them rises at
	// most until the mass falls below it.
	sum, alpha := 0., 0.
	for i := 1; i <= v; i++ {
		mass := binomialMass(r, v-i, p)
		sum += mass
		alpha = max(alpha, sum/float64(i))
		if float64(v-i) < float64(r+1)*p && mass < sum/float64(i) {
			break
		}
	}
	return min(1, beta+2*float64(m)*delta*alpha)
}

// binomialMass is P[Bin(n, p) = k].
func binomialMass(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	q := float64(n-k) * math.Log1p(-p)
	if n == k {
		q = 0
	}
	return math.Exp(a - b - c + float64(k)*math.Log(p) + q)
}

// oneRunFDP is the largest epsilon whose Gaussian trade-off function (at delta) the
// guesses falsify, or at most best (Mahloujifar, Melis, Chaudhuri 2024).
func oneRunFDP(t *tally, level, delta, best float64) float64 {
	m, v, k := t.in+t.absent, t.in-t.missed, t.in-t.missed+t.wrong
	return falsified(best, func(eps float64) bool {
		mu := gdp.Mu(eps, delta)
		r, h := level*float64(v)/float64(m), level*float64(k-v)/float64(m)
		for i := v - 1; i >= 0; i-- {
			next := max(h, normal(quantile(r)-mu))
			if next == h {
				break
			}
			r = min(1, r+float64(i)/float64(k-i)*(next-h))
			h = next
		}
		return r+h > float64(k)/float64(m)
	})
}
