package account

import "math"

// selectCurve is the curve of publishing the best of a random number of runs, each with
// curve r (Papernot, Steinke 2022). Truncated negative binomial (Theorem 2), parameter g:
//
//	R'(a) = R(a) + (1+eta) min_b [(1-1/b) R(b) + ln(1/g)/b] + ln(mean)/(a-1)
//
// Poisson (Theorem 6): R'(a) = R(a) + mean d(a) + ln(mean)/(a-1), d(a) the delta of one
// run at ln(1+1/(a-1)). Renyi divergence does not fall with the order, so the least bound
// at any larger order holds as well.
func selectCurve(r curve, mean float64, s shape) curve {
	orders := DefaultOrders()
	rs := make([]float64, len(orders))
	for i, a := range orders {
		rs[i] = r(a)
	}
	direct := func(a, ra float64) float64 {
		return ra + mean*deltaAt(orders, rs, math.Log1p(1/(a-1))) + math.Log(mean)/(a-1)
	}
	if !s.poisson {
		lnInvG := -math.Log(negativeBinomialParameter(mean, s.eta))
		least := math.Inf(1)
		for i, b := range orders {
			least = math.Min(least, (1-1/b)*rs[i]+lnInvG/b)
		}
		direct = func(a, ra float64) float64 { return ra + (1+s.eta)*least + math.Log(mean)/(a-1) }
	}
	repaired := make([]float64, len(orders))
	later := math.Inf(1)
	for i := len(orders) - 1; i >= 0; i-- {
		later = math.Min(later, math.Max(0, direct(orders[i], rs[i])))
		repaired[i] = later
	}
	return func(a float64) float64 {
		x := math.Max(0, direct(a, r(a)))
		for i, b := range orders {
			if b >= a {
				return math.Min(x, repaired[i])
			}
		}
		return x
	}
}

// negativeBinomialParameter is the g in (0,1) at which the truncated negative binomial
// law of parameter eta has the given mean > 1: mean = eta (1-g)/(g (1-g^eta)), or
// (1/g-1)/ln(1/g) at eta = 0. The mean falls with g.
func negativeBinomialParameter(mean, eta float64) float64 {
	m := func(g float64) float64 {
		if eta == 0 {
			return (1 - g) / g / -math.Log(g)
		}
		return eta * (1 - g) / (g * -math.Expm1(eta*math.Log(g)))
	}
	lo, hi := 1e-300, 1.0 // invariant: m(lo) > mean; lo underestimates g, which only raises the bound
	for range 2000 {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if m(mid) >= mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// deltaAt is the least delta at eps over stored orders, at most 1.
func deltaAt(orders, rs []float64, eps float64) float64 {
	best := 0.0
	for i, a := range orders {
		best = math.Min(best, lnDelta(a, rs[i], eps))
	}
	return math.Exp(best)
}
