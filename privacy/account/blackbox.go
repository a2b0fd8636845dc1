package account

import (
	"math"
	"sort"

	"sotto/config"
)

// Black boxes: mechanisms of which only a bound is known.

var epsDeltaKind = kind{
	typ: TypeEpsDelta,
	fields: func(b *body) []field {
		return []field{{"epsilon", &b.epsilon, nonNegative}, {"delta", &b.delta, probability}}
	},
	pair: alonePair(func(b *body) pair { return epsDeltaPair(b.epsilon, b.delta) }),
	rdp: func(b *body, r relation) (curve, error) {
		if !r.alone() || b.delta > 0 {
			return nil, errNoProof
		}
		return pureCurve(b.epsilon), nil
	},
	pure: func(b *body, r relation) float64 {
		if !r.alone() || b.delta > 0 {
			return math.Inf(1)
		}
		return b.epsilon
	},
	box: func(b *body, r relation) (eps, delta float64, ok bool) { return b.epsilon, b.delta, r.alone() },
}

var zcdpKind = kind{
	typ: TypeZCDP,
	fields: func(b *body) []field {
		return []field{{"rho", &b.rho, nonNegative}, {"xi", &b.xi, nonNegative}}
	},
	rdp: aloneCurve(func(b *body) curve {
		return func(a float64) float64 { return b.xi + b.rho*a }
	}),
}

var gdpKind = kind{
	typ:    TypeGDP,
	fields: func(b *body) []field { return []field{{"mu", &b.mu, nonNegative}} },
	mu:     func(b *body) (float64, bool) { return b.mu, true },
	rdp:    gaussianRDP,
	pure:   gaussianPure,
}

var rdpKind = kind{
	typ: TypeRDP,
	fields: func(b *body) []field {
		return []field{{"orders", &b.orders, rule{}}, {"values", &b.values, rule{}}}
	},
	normalise: leaf((*body).checkRDP),
	rdp:       aloneCurve(func(b *body) curve { return tableCurve(b.orders, b.values) }),
}

// EpsDelta is a black box of which only (epsilon, delta) is known: epsilon is finite and
// at least 0, delta in [0, 1].
func EpsDelta(epsilon, delta float64) (Event, error) {
	return newEvent(&body{kind: &epsDeltaKind, epsilon: epsilon, delta: delta})
}

// ZCDP is a black box with Renyi divergence at most xi + rho a at every order a (Bun,
// Steinke 2016); both are finite and at least 0.
func ZCDP(rho, xi float64) (Event, error) { return newEvent(&body{kind: &zcdpKind, rho: rho, xi: xi}) }

// GDP is a black box that is mu-Gaussian differentially private (Dong, Roth, Su 2022), mu
// finite and at least 0.
func GDP(mu float64) (Event, error) { return newEvent(&body{kind: &gdpKind, mu: mu}) }

// RDP is a black box with the given Renyi divergences, finite and at least 0, at the
// given orders (at least one, ascending, finite, above 1).
func RDP(orders, values []float64) (Event, error) {
	return newEvent(&body{kind: &rdpKind, orders: append([]float64(nil), orders...),
		values: append([]float64(nil), values...)})
}

func (b *body) checkRDP() error {
	if len(b.orders) == 0 || len(b.orders) != len(b.values) {
		return config.Bad("orders", len(b.orders), "as many as values, at least one")
	}
	last := 1.0
	for i, a := range b.orders {
		if !positive(a) || a <= last {
			return config.Bad("orders", a, "finite, ascending, above 1")
		}
		if !atLeast0(b.values[i]) {
			return config.Bad("values", b.values[i], "a finite number >= 0")
		}
		last = a
	}
	return nil
}

// pureBox is the box of a mechanism with a pure epsilon.
func pureBox(b *body, r relation) (eps, delta float64, ok bool) { return b.kind.pure(b, r), 0, true }

// pureCurve is the curve of binary randomized response with loss e, which dominates every
// e-DP mechanism: e + log1p(p' expm1(-2 (a-1) e))/(a-1) with p' = 1/(1+exp(e)).
func pureCurve(e float64) curve {
	return func(a float64) float64 {
		if a-1 < 1e-9 {
			return e * math.Tanh(e/2)
		}
		return e + math.Log1p(math.Expm1(-2*(a-1)*e)/(1+math.Exp(e)))/(a-1)
	}
}

// tableCurve interpolates (a-1) R(a), which is convex and 0 at order 1, linearly between
// stored orders.
func tableCurve(orders, values []float64) curve {
	return func(a float64) float64 {
		i := sort.SearchFloat64s(orders, a)
		if i == len(orders) {
			return math.Inf(1)
		}
		lo, at := 1.0, 0.0
		if i > 0 {
			lo, at = orders[i-1], (orders[i-1]-1)*values[i-1]
		}
		w := (a - lo) / (orders[i] - lo)
		// Renyi divergence does not fall with the order, so the next stored value bounds
		// it as well.
		return math.Min(values[i], ((1-w)*at+w*(orders[i]-1)*values[i])/(a-1))
	}
}

// epsDeltaPair is the worst pair of all (e, d)-DP mechanisms (Kairouz, Oh, Viswanath
// 2015).
func epsDeltaPair(e, d float64) pair {
	hi := 1 / (1 + math.Exp(-e))
	lo := 1 / (1 + math.Exp(e))
	p := atomPair([]atom{{e, (1 - d) * hi, (1 - d) * lo}, {-e, (1 - d) * lo, (1 - d) * hi}}, d, d, true)
	p.tight = false
	return p
}
