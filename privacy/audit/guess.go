package audit

import "math"

// threshold is where guesses about a Gaussian release tell the most, before any
// observation: the middle of both means for a record that is always there, and for one
// that is rarely drawn where the difference of the rates is largest against the root of
// the variance.
func threshold(mu, rate float64) float64 {
	best, at := 0., .5
	for x := .5; rate < 1 && x < 8; x += .01 {
		fpr := normal(-x * mu)
		if gain := (normal((1-x)*mu) - fpr) / math.Sqrt(fpr*(1-fpr)); gain > best && fpr > 1e-3 {
			best, at = gain, x
		}
	}
	return at
}

// guessed is epsilon at delta of n independent guesses, each "there" with probability hit
// with the record and at most false without it: the number of guesses is binomial in both
// worlds, and epsilon is where sum max(0, P[k] - e^eps Q[k]) falls to delta. It is a
// lower bound for any run of n releases from which such guesses can be made, since they
// are post-processing.
func guessed(hit, wrong float64, n int, delta float64) float64 {
	if hit <= wrong {
		return 0
	}
	p, q := make([]float64, n+1), make([]float64, n+1)
	for k := range p {
		p[k], q[k] = binomialMass(n, k, hit), binomialMass(n, k, wrong)
	}
	above := func(eps float64) bool {
		d := 0.
		for k := range p {
			d += max(0, p[k]-math.Exp(eps)*q[k])
		}
		return d > delta
	}
	lo, hi := 0., 1.
	if !above(0) {
		return 0
	}
	for above(hi) && hi < 700 {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-6 {
		if mid := (lo + hi) / 2; above(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// sampledMu is the largest mu excluded where P = (1-q) N(0,1) + q N(mu,1) stands against
// N(0,1): at most q (Phi(PhiInv(FPR) + mu) - FPR) more is guessed rightly than wrongly.
// +Inf: more than any mu allows.
func sampledMu(t *tally, level, rate float64) float64 {
	fnr, fpr := t.limits(level)
	gain := 1 - fnr - fpr
	if fpr >= 1 || gain <= 0 {
		return 0
	}
	hit := gain/rate + fpr
	if hit >= 1 {
		return math.Inf(1)
	}
	return quantile(hit) - quantile(fpr)
}
