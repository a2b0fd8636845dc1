package account

import (
	"math"
	"slices"

	"sotto/privacy/account/loss"
)

var discreteGaussianKind = kind{
	typ: TypeDiscreteGaussian,
	fields: func(b *body) []field {
		return []field{{"sigma_grid", &b.sigmaGrid, aboveZero}, {"l2_grid", &b.l2Grid, aboveZero},
			{"linf_grid", &b.linfGrid, integers(1)}, {"dim", &b.dim, integers(1)}}
	},
	normalise: leaf(func(b *body) error {
		return bad(b.dim > 1 || b.l2Grid == math.Trunc(b.l2Grid), "l2_grid", b.l2Grid,
			"an integer when dim is 1")
	}),
	mu: discreteGaussianMu,
	pair: func(b *body, r relation) (pair, error) {
		if !r.alone() || b.dim > 1 || b.l2Grid > 1<<16 {
			return noPair, errNoProof
		}
		return discreteGaussianPair(b.sigmaGrid, b.l2Grid), nil
	},
	// Canonne, Kamath, Steinke 2020, Theorem 4: the continuous curve, any dimension
	rdp: func(b *body, r relation) (curve, error) {
		return gaussianCurve(float64(r.members()) * b.l2Grid / b.sigmaGrid), nil
	},
}

var discreteLaplaceKind = kind{
	typ: TypeDiscreteLaplace,
	fields: func(b *body) []field {
		return []field{{"a", &b.a, aboveZero}, {"l1_grid", &b.l1Grid, integers(1)}}
	},
	pair: alonePair(func(b *body) pair { return discreteLaplacePair(b.a, float64(b.l1Grid)) }),
	rdp:  aloneCurve(func(b *body) curve { return pureCurve(b.a * float64(b.l1Grid)) }),
	pure: func(b *body, r relation) float64 { return float64(r.members()) * b.a * float64(b.l1Grid) },
	box:  pureBox,
}

// DiscreteGaussian is integer noise P(x) proportional to exp(-x^2/(2 sigmaGrid^2)) on
// every coordinate of an integer vector of the stated L2 and maximum sensitivities
// (Canonne, Kamath, Steinke 2020). sigmaGrid and l2Grid are finite and above 0, linfGrid
// and dim at least 1; in dimension 1 l2Grid is an integer.
func DiscreteGaussian(sigmaGrid, l2Grid float64, linfGrid, dim int) (Event, error) {
	return newEvent(&body{
		kind:      &discreteGaussianKind,
		sigmaGrid: sigmaGrid,
		l2Grid:    l2Grid,
		linfGrid:  linfGrid,
		dim:       dim,
	})
}

// DiscreteLaplace is integer noise P(x) proportional to exp(-a|x|) on a value of integer
// L1 sensitivity l1Grid, at least 1; a is finite and above 0.
func DiscreteLaplace(a float64, l1Grid int) (Event, error) {
	return newEvent(&body{kind: &discreteLaplaceKind, a: a, l1Grid: l1Grid})
}

// minContinuous is the smallest sigma_grid at which a discrete Gaussian is read as a
// continuous one.
const minContinuous = 32

// discreteGaussianMu reads a discrete Gaussian of parameter sigma in any dimension as the
// continuous Gaussian of variance sigma^2 - 9: release v + N(0, sigma^2-9) and round it
// to the grid by a discrete Gaussian of parameter 3 around it. By Poisson summation the
// result has the law of the discrete mechanism up to a factor within 1 +- 2 exp(-18 pi^2)
// < 1 +- 1e-76 per coordinate, so the discrete mechanism is post-processing of the
// continuous one up to an epsilon below 1e-40 for any admissible dimension and count, far
// under one unit in the last place.
func discreteGaussianMu(b *body) (mu float64, ok bool) {
	return b.l2Grid / math.Sqrt(b.sigmaGrid*b.sigmaGrid-9), b.sigmaGrid >= minContinuous
}

// fineGrid is the sigma_grid from which that bound is also what the mechanism has, up to
// 1e-11 of epsilon; below it nothing follows from it for a lower end.
const fineGrid = 1 << 19

// coarse reports whether some discrete Gaussian in b is bounded by a continuous one that
// has visibly less noise.
func (b *body) coarse() bool {
	if b.kind.typ == TypeDiscreteGaussian {
		return b.sigmaGrid >= minContinuous && b.sigmaGrid < fineGrid
	}
	return b.event != nil && b.event.coarse() || slices.ContainsFunc(b.events, (*body).coarse)
}

// discreteGaussianPair is integer Gaussian noise of parameter s at integer distance d, on
// |x| <= 40 s + d.
func discreteGaussianPair(s, d float64) pair {
	reach := int(math.Ceil(40*s + d))
	var z float64
	for x := reach; x > 0; x-- {
		z += 2 * math.Exp(-float64(x)*float64(x)/(2*s*s))
	}
	z++
	atoms := make([]atom, 0, 2*reach+int(d)+1)
	for x := -reach; x <= reach+int(d); x++ {
		f := float64(x)
		p, q := math.Exp(-(f-d)*(f-d)/(2*s*s))/z, math.Exp(-f*f/(2*s*s))/z
		if p > 0 || q > 0 {
			atoms = append(atoms, atom{(2*f*d - d*d) / (2 * s * s), p, q})
		}
	}
	return atomPair(atoms, 0, 0, true)
}

// discreteLaplacePair is integer Laplace noise of parameter a at integer distance d: loss
// a(d-2x) for outcomes 0 <= x <= d, and +-ad beyond.
func discreteLaplacePair(a, d float64) pair {
	r := math.Exp(-a)
	return pair{stateless(func(t float64) loss.Tails {
		switch {
		case t >= a*d:
			return loss.AllBelow
		case t < -a*d:
			return loss.AllAbove
		}
		x := math.Min(d-1, math.Max(0, math.Ceil((d-t/a)/2)-1)) // the loss is above t up to here
		p, q := math.Exp(-a*(x+1))/(1+r), math.Exp(-a*(d-x))/(1+r)
		return loss.Tails{PUp: 1 - p, QUp: q, PLo: p, QLo: 1 - q}
	}), true, true, nil}
}
