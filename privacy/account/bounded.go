package account

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// BoundedDesign is bounded noise calibrated on its exact profile.
type BoundedDesign struct {
	Event      Event
	Scale      float64 // relative to the sensitivity, as Truncation and Std
	Truncation float64
	Std        float64 // standard deviation of the truncated noise
	Delta      float64 // exact delta at the target epsilon
}

// Bounded finds the scale and truncation of least standard deviation whose exact profile
// at target.Epsilon is at most target.Delta, for one scalar release. For every scale the
// truncation is the least feasible one. Truncating Laplace noise gains a few percent over
// pure Laplace noise; truncating Gaussian noise gains nothing and the search pushes the
// truncation outwards, up to 12 scales. beta is used by the generalized family only, 0
// otherwise.
func Bounded(family string, beta float64, target Budget) (BoundedDesign, error) {
	if err := first(target.validate(), bad(target.Delta > 0, "target_delta", target.Delta, "above 0")); err !=
		nil {
		return BoundedDesign{}, err
	}
	if _, err := BoundedNoise(family, 1, 1, beta); err != nil {
		return BoundedDesign{}, err
	}
	best := BoundedDesign{Std: math.Inf(1)}
	at := func(lnScale float64) float64 {
		d := boundedAt(family, beta, math.Exp(lnScale), target)
		if d.Std < best.Std {
			best = d
		}
		return d.Std
	}
	// The standard deviation falls towards the best scale from both sides; a coarse
	// search brackets it.
	where, least := 0.0, math.Inf(1)
	const step = 0.05
	for x := math.Log(1e-3); x < math.Log(1e5); x += step {
		if v := at(x); v < least {
			where, least = x, v
		} else if v > 4*least {
			break
		}
	}
	if math.IsInf(least, 1) {
		return best, fmt.Errorf("%w: no scale up to 1e5 sensitivities gives (%g, %g)", ErrInfeasible,
			target.Epsilon, target.Delta)
	}
	lo, hi := where-step, where+step
	for range 50 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if at(a) <= at(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return best, nil
}

// boundedAt is the design of one scale, Std +Inf where no truncation is feasible.
func boundedAt(family string, beta, scale float64, target Budget) BoundedDesign {
	delta := func(a float64) float64 {
		return profileOf(boundedPair(&body{family: family, scale: scale, truncation: a, beta: beta}), false,
			target.Epsilon)
	}
	hi := 12 * scale
	if family == BoundedLaplace {
		hi = 60 * scale
	}
	if !(delta(hi) <= target.Delta) {
		return BoundedDesign{Std: math.Inf(1)}
	}
	lo := 0.0
	for range 60 {
		mid := (lo + hi) / 2
		if delta(mid) <= target.Delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	ev, err := BoundedNoise(family, scale, hi, beta)
	if err != nil {
		return BoundedDesign{Std: math.Inf(1)}
	}
	return BoundedDesign{
		Event:      ev,
		Scale:      scale,
		Truncation: hi,
		Std:        boundedStd(family, scale, hi, beta),
		Delta:      delta(hi),
	}
}

// boundedStd is the standard deviation of density exp(-(|x|/w)^beta) on [-a, a]:
// w^2 Gamma(3/beta) P(3/beta, x)/(Gamma(1/beta) P(1/beta, x)) with x = (a/w)^beta.
func boundedStd(family string, scale, a, beta float64) float64 {
	w := scale
	switch family {
	case BoundedLaplace:
		beta = 1
	case BoundedGaussian:
		beta, w = 2, scale*math.Sqrt2
	}
	x := math.Pow(a/w, beta)
	g3, _ := math.Lgamma(3 / beta)
	g1, _ := math.Lgamma(1 / beta)
	return w * math.Sqrt(math.Exp(g3-g1)*mathext.GammaIncReg(3/beta, x)/mathext.GammaIncReg(1/beta, x))
}
