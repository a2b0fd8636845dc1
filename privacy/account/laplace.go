package account

import (
	"math"

	"sotto/privacy/account/loss"
)

var laplaceKind = kind{
	typ:    TypeLaplace,
	fields: func(b *body) []field { return []field{{"scale", &b.scale, nonNegative}} },
	pair: func(b *body, r relation) (pair, error) {
		if b.scale == 0 {
			return noPair, nil
		}
		return laplacePair(float64(r.members()) / b.scale), nil
	},
	rdp: func(b *body, r relation) (curve, error) {
		return laplaceCurve(float64(r.members()) / b.scale), nil
	},
	pure: func(b *body, r relation) float64 { return float64(r.members()) / b.scale },
	box:  pureBox,
}

// Laplace is Laplace noise; scale is its scale b over the L1 sensitivity, finite and at
// least 0, where epsilon is infinite.
func Laplace(scale float64) (Event, error) { return newEvent(&body{kind: &laplaceKind, scale: scale}) }

// laplaceCurve is Mironov 2017, Proposition 6, for e = sensitivity/scale, in the form
// that keeps digits: e + log1p((a-1) expm1((1-2a) e)/(2a-1))/(a-1).
func laplaceCurve(e float64) curve {
	return func(a float64) float64 {
		if math.IsInf(e, 1) {
			return e
		}
		if a-1 < 1e-9 {
			return e + math.Expm1(-e)
		}
		return e + math.Log1p((a-1)*math.Expm1((1-2*a)*e)/(2*a-1))/(a-1)
	}
}

// laplacePair has loss e with probability 1/2, -e with probability exp(-e)/2 and density
// exp((l-e)/2)/4 between.
func laplacePair(e float64) pair {
	return pair{stateless(func(t float64) loss.Tails {
		switch {
		case t >= e:
			return loss.AllBelow
		case t < -e:
			return loss.AllAbove
		}
		p, q := math.Exp((t-e)/2)/2, math.Exp(-(e+t)/2)/2
		return loss.Tails{PUp: 1 - p, QUp: q, PLo: p, QLo: 1 - q}
	}), true, true, nil}
}
