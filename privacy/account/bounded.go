package account

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"sotto/config"
	"sotto/privacy/account/loss"
)

var boundedKind = kind{
	typ: TypeBoundedNoise,
	fields: func(b *body) []field {
		return []field{{"family", &b.family, rule{}}, {"scale", &b.scale, rule{}},
			{"truncation", &b.truncation, rule{}}, {"beta", &b.beta, rule{def: 0.0}}, {"dim", &b.dim, rule{}},
			{"norm", &b.norm, rule{}}}
	},
	normalise: leaf((*body).checkBounded),
	pair:      alonePair(boundedPair),
}

// Families of BoundedNoise.
const (
	BoundedLaplace     = "laplace"     // density proportional to exp(-|x|/scale)
	BoundedGaussian    = "gaussian"    // exp(-x^2/(2 scale^2))
	BoundedGeneralized = "generalized" // exp(-(|x|/scale)^beta)
)

// BoundedNoise is scalar noise with density of the family on [-truncation, truncation];
// scale, at most 1000 times truncation, and truncation are relative to the sensitivity;
// beta is 1 to 64 of the family generalized, 0 of others.
func BoundedNoise(family string, scale, truncation, beta float64) (Event, error) {
	return newEvent(&body{
		kind:       &boundedKind,
		family:     family,
		scale:      scale,
		truncation: truncation,
		beta:       beta,
		dim:        1,
		norm:       L2.String(),
	})
}

func (b *body) checkBounded() error {
	if b.family != BoundedLaplace && b.family != BoundedGaussian && b.family != BoundedGeneralized {
		return config.Bad("family", b.family, "laplace, gaussian or generalized")
	}
	if b.family == BoundedGeneralized {
		if !(b.beta >= 1 && b.beta <= 64) {
			return config.Bad("beta", b.beta, "1 to 64")
		}
	} else if b.beta != 0 {
		return config.Bad("beta", b.beta, "absent unless the family is generalized")
	}
	return first(bad(usual(b.truncation), "truncation", b.truncation, "1e-100 to 1e100"),
		bad(usual(b.scale) && b.scale <= 1000*b.truncation, "scale", b.scale,
			"1e-100 to 1e100, and at most 1000 times the truncation"),
		bad(b.dim == 1, "dim", b.dim, "1: vectors of bounded noise have no known worst case"),
		bad(b.norm == L1.String() || b.norm == L2.String(), "norm", b.norm, "l1 or l2"))
}

// boundedPair is scalar noise of the family on [-A, A] around 0 against the same around
// 1. Outcomes in the end strip of width 1 are impossible under the neighbour: an infinity
// atom that no scale removes. On the overlap the loss g(|z-1|) - g(|z|) falls with z
// because g is convex. In place of 1 the worlds are d apart, which costs no less: d-1 is
// more than z, z-1 and f lose by rounding.
func boundedPair(b *body) pair {
	a := b.truncation
	d := 1 + 0x1p-49*(1+a)
	if b.family == BoundedGeneralized {
		d = 1 + 0x1p-45*(1+a)
	}
	f, edge := boundedLaw(b, d)
	clamp := func(z float64) float64 { return math.Min(a, math.Max(-a, z)) }
	return pair{stateless(func(t float64) loss.Tails {
		z := edge(t) // loss > t exactly for z below the edge
		z = math.Max(d-a, math.Min(a, z))
		if a < d-a { // disjoint supports
			z = a
		}
		// P and Q-probabilities of (-Inf, z): the strip below d-A has loss +Inf and is in
		// pUp, that above A has -Inf.
		p, q := f(clamp(z)), f(clamp(z-d))
		return loss.Tails{PUp: p, QUp: q, PLo: f(clamp(-z)), QLo: f(clamp(d - z))}
	}), true, d < 1+1e-10, nil}
}

// boundedLaw returns the distribution function on [-A, A], and the z below which the loss
// exceeds t, of worlds that are d apart.
func boundedLaw(b *body, d float64) (cdf func(z float64) float64, edge func(t float64) float64) {
	s, a := b.scale, b.truncation
	switch b.family {
	case BoundedLaplace:
		norm := -2 * math.Expm1(-a/s)
		cdf = func(z float64) float64 {
			if z < 0 {
				return -math.Exp(z/s) * math.Expm1(-(z+a)/s) / norm
			}
			return 0.5 - math.Expm1(-z/s)/norm
		}
		edge = func(t float64) float64 {
			switch {
			case t >= d/s:
				return math.Inf(-1)
			case t < -d/s:
				return math.Inf(1)
			}
			return (d - t*s) / 2
		}
	case BoundedGaussian:
		lo, norm := upperTail(a/s), math.Erf(a/s/math.Sqrt2)
		cdf = func(z float64) float64 {
			if a < s { // nearly uniform: the difference would have few digits
				return .5 + math.Erf(z/s/math.Sqrt2)/norm/2
			}
			return (upperTail(-z/s) - lo) / norm
		}
		edge = func(t float64) float64 { return d/2 - t*s*s/d }
	default:
		g := func(z float64) float64 { return math.Pow(math.Abs(z)/s, b.beta) }
		norm, beyond := mathext.GammaIncReg(1/b.beta, g(a)), mathext.GammaIncRegComp(1/b.beta, g(a))
		cdf = func(z float64) float64 {
			if z < 0 && norm > .5 {
				return (mathext.GammaIncRegComp(1/b.beta, g(z)) - beyond) / norm / 2
			}
			return 0.5 + math.Copysign(mathext.GammaIncReg(1/b.beta, g(z))/norm/2, z)
		}
		edge = func(t float64) float64 {
			lo, hi := -a-1, a+1
			for range 80 {
				z := (lo + hi) / 2
				if g(z-d)-g(z) > t {
					lo = z
				} else {
					hi = z
				}
			}
			return lo
		}
	}
	return cdf, edge
}
