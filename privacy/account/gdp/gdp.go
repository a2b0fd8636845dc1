// Package gdp is the exact trade-off of epsilon and delta of mu-GDP mechanisms, of which
// the Gaussian mechanism is one (Balle and Wang 2018, Dong, Roth and Su 2019).
package gdp

import (
	"math"

	"sotto/tensor"
)

// tail is P[Z > x] for a standard normal Z, see [tensor.NormalTail].
func tail(x float64) float64 {
	up, _ := tensor.NormalTail(x)
	return up
}

// density is the standard normal density.
func density(x float64) float64 { return math.Exp(-0.5*x*x) / math.Sqrt(2*math.Pi) }

// mills is the ratio P[Z > x]/density(x) for x > -30: by the error function below 9, by
// the asymptotic series 1/x - 1/x^3 + 3/x^5 - ... above, where twelve terms reach 1e-15.
func mills(x float64) float64 {
	if x < 9 {
		return tail(x) / density(x)
	}
	sum, term, y := 1.0, 1.0, 1/(x*x)
	for k := 1; k <= 24; k++ {
		next := term * -float64(2*k-1) * y
		if math.Abs(next) >= math.Abs(term) {
			break
		}
		term = next
		sum += term
	}
	return sum / x
}

// Delta is the exact delta at epsilon of a mu-GDP mechanism, a Gaussian mechanism
// of sensitivity mu and unit noise (Balle, Wang 2018): P[Z > u] - e^eps P[Z > u+mu] with
// u = eps/mu - mu/2. It is evaluated by Mills ratios, without subtracting the two
// probabilities, to about 1e-13 relative. mu in [0, +Inf], epsilon any real; it is 1 for
// what is not.
func Delta(mu, epsilon float64) float64 {
	switch {
	case math.IsInf(mu, 1) || !(mu >= 0) || math.IsNaN(epsilon):
		return 1
	case mu == 0 || math.IsInf(epsilon, 1):
		return math.Max(0, -math.Expm1(epsilon))
	case epsilon < 0: // H_{1/a}(P||Q) = 1 - 1/a + H_a(Q||P)/a, and the pair is symmetric
		return -math.Expm1(epsilon) + math.Exp(epsilon)*Delta(mu, -epsilon)
	}
	switch u := edgeOf(mu, epsilon); {
	case mu < smallMu:
		return density(u) * millsFall(u, mu)
	case u > 0:
		return density(u) * math.Max(0, mills(u)-mills(u+mu))
	default:
		return tail(u) - density(u)*mills(u+mu)
	}
}

// edgeOf is u = eps/mu - mu/2, without what eps/mu rounds where both are huge.
func edgeOf(mu, epsilon float64) float64 {
	if mu < 1e3 || mu > 1e150 {
		return epsilon/mu - mu/2
	}
	square := mu * mu
	return (epsilon - square/2 - math.FMA(mu, mu, -square)/2) / mu
}

// smallMu is where the difference of two Mills ratios begins to lose digits.
const smallMu = 1e-3

// millsFall is mills(u) - mills(u+mu) for mu below smallMu: the integral of 1 - x
// mills(x) by three nodes of Gauss and Legendre, whose error is below mu^6.
func millsFall(u, mu float64) float64 {
	slope := func(x float64) float64 {
		if x < 9 {
			return 1 - x*mills(x)
		}
		sum, term, y := 0., -1., 1/(x*x) // y - 3 y^2 + 15 y^3 - ...
		for k := 1; k <= 24; k++ {
			next := term * -float64(2*k-1) * y
			if math.Abs(next) >= math.Abs(term) && k > 1 {
				break
			}
			term = next
			sum += term
		}
		return sum
	}
	at := mu / 2 * math.Sqrt(.6)
	return mu / 18 * (5*slope(u+mu/2-at) + 8*slope(u+mu/2) + 5*slope(u+mu/2+at))
}

// lnDelta is the logarithm of Delta for epsilon >= 0, finite where delta
// underflows.
func lnDelta(mu, epsilon float64) float64 {
	if u := edgeOf(mu, epsilon); mu < smallMu {
		return -0.5*u*u - 0.5*math.Log(2*math.Pi) + math.Log(millsFall(u, mu))
	} else if u > 0 {
		return -0.5*u*u - 0.5*math.Log(2*math.Pi) + math.Log(mills(u)-mills(u+mu))
	}
	return math.Log(Delta(mu, epsilon))
}

// Epsilon is the exact epsilon at delta of a mu-GDP mechanism: 0 where delta >=
// Delta(mu, 0), +Inf for delta = 0 or infinite mu, and for what is none: mu is at
// least 0, delta in [0, 1].
func Epsilon(mu, delta float64) float64 {
	switch {
	case !(mu >= 0) || math.IsNaN(delta):
		return math.Inf(1)
	case mu == 0 || delta >= 1:
		return 0
	case math.IsInf(mu, 1) || delta <= 0:
		return math.Inf(1)
	case Delta(mu, 0) <= delta:
		return 0
	}
	target := math.Log(delta)
	// P[loss > eps] <= exp(-u^2/2) for u >= 0 bounds epsilon from above.
	lo, hi := 0.0, mu*mu/2+mu*math.Sqrt(-2*target)
	x := hi
	for range 200 {
		ln := lnDelta(mu, x)
		if ln > target {
			lo = x
		} else {
			hi = x
		}
		// d ln(delta)/d eps = -e^eps P[Z > u+mu]/delta, which is -density(u)
		// mills(u+mu)/delta.
		u := x/mu - mu/2
		slope := -math.Exp(-0.5*u*u-0.5*math.Log(2*math.Pi)-ln) * mills(u+mu)
		next := x - (ln-target)/slope
		if !(next >= lo && next <= hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-14*x {
			return next
		}
		x = next
	}
	return hi
}

// Mu is the largest mu whose Epsilon at delta is at most epsilon, for
// epsilon >= 0 and 0 < delta < 1. A Gaussian mechanism needs noise of sensitivity/mu.
func Mu(epsilon, delta float64) float64 {
	lo, hi := 1e-300, 1.0
	for Delta(hi, epsilon) < delta && hi < 1e150 {
		lo, hi = hi, 2*hi
	}
	for Delta(lo, epsilon) > delta && lo > 1e-300 {
		hi, lo = lo, lo/2
	}
	for hi > lo*(1+4e-16) {
		mid := lo + (hi-lo)/2
		if hi > 2*lo {
			mid = math.Sqrt(lo) * math.Sqrt(hi)
		}
		if mid <= lo || mid >= hi {
			break
		}
		if Delta(mid, epsilon) <= delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
