package account

import (
	"math"

	"sotto/privacy/account/loss"
)

var gaussianKind = kind{
	typ: TypeGaussian,
	fields: func(b *body) []field {
		return []field{{"noise_multiplier", &b.noise, nonNegative}, {"shift", &b.shift, aboveZero.or(1)}}
	},
	mu:   func(b *body) (float64, bool) { return b.shift / b.noise, true },
	rdp:  gaussianRDP,
	pure: gaussianPure,
}

// Gaussian is normal noise of standard deviation noiseMultiplier times the clip on a
// value whose L2 sensitivity is shift times the clip (clipped sums: 1, or 2 under
// replace-one; a residual clip: 2 always), finite and above 0. noiseMultiplier is finite;
// 0 is legal and has infinite epsilon.
func Gaussian(noiseMultiplier, shift float64) (Event, error) {
	return newEvent(&body{kind: &gaussianKind, noise: noiseMultiplier, shift: shift})
}

// gaussianMu returns the GDP parameter of an unsampled event that is exactly a Gaussian
// mechanism, or is dominated by one without visible loss; mu is +Inf without noise.
func gaussianMu(b *body) (mu float64, ok bool) {
	if b.kind.mu == nil {
		return 0, false
	}
	return b.kind.mu(b)
}

// mu is gaussianMu for the relation's unit, where it is known.
func (r relation) mu(b *body) (mu float64, ok bool) {
	mu, ok = gaussianMu(b)
	return mu * float64(r.members()), ok && (r.alone() || !b.kind.is(single))
}

// gaussianRDP is the curve of a kind that has no other than that of its mu.
func gaussianRDP(b *body, r relation) (curve, error) {
	mu, ok := r.mu(b)
	if !ok {
		return nil, errNoProof
	}
	return gaussianCurve(mu), nil
}

// gaussianPure: only what does not depend on the data is pure.
func gaussianPure(b *body, _ relation) float64 {
	if mu, _ := gaussianMu(b); mu == 0 {
		return 0
	}
	return math.Inf(1)
}

func gaussianCurve(mu float64) curve {
	return func(a float64) float64 { return a * mu * mu / 2 }
}

// gaussianPair is N(mu, 1) against N(0, 1).
func gaussianPair(mu float64) pair { return pair{loss.Shifted(mu), true, true, nil} }
