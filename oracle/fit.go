package oracle

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.Oracle = (*Fit)(nil)

// Fit is the oracle "fit": the minimiser of the owner's own loss
//
//	(1/m̄) Σ_r l(θ; x_r, y_r) + λ |θ|²
//
// for a generalized linear model. With per-record gradients of norm at most G the
// minimiser moves by at most 2G/(m̄ 2λ) when one record changes, half of that when one is
// added, removed or nulled (strong convexity 2λ: Chaudhuri, Monteleoni, Sarwate 2011).
// Newton's method runs until the gradient's norm, its round-off included, is at most
// Tolerance, and 2 Tolerance/(2λ) is part of the sensitivity, as is the rounding of the
// answer to float32. Features are scaled to norm at most Radius, which makes G a public
// constant, and the answer to norm at most G/(2λ), where every minimiser over m̄ records
// lies.
type Fit struct {
	GLM        model.GLM
	Records    Records
	Normaliser float64 // m̄, public, > 0, finite; where gradients are bounded at least half the records
	Lambda     float64 // public, > 0, finite; Validate refuses too small ones
	Radius     float64 // X > 0; +Inf leaves features alone, for runs that are not private
	Adjacency  account.Adjacency
	Unit       account.Unit
	Dim        int
}

// Tolerance bounds the gradient's norm at the answer of Fit, in units of G, or of 1 where
// nothing bounds gradients.
const Tolerance = 1e-9

// Validate names the first field that cannot be used. It looks at the number of records,
// not at them.
func (f *Fit) Validate() error {
	if err := checkPositive("batch_size", f.Normaliser); err != nil {
		return err
	}
	switch {
	case !(f.Lambda > 0) || math.IsInf(f.Lambda, 1):
		return config.Bad("fit_lambda", f.Lambda, "above 0 and finite")
	case !(f.Radius > 0):
		return config.Bad("feature_norm", f.Radius, "above 0")
	case f.Unit != account.Record():
		return config.Bad("unit", f.Unit, "record: the sensitivity of a fit is that of one record")
	case !math.IsInf(f.bound(), 1) && f.condition() > mostCondition:
		return config.Bad("fit_lambda", f.Lambda, fmt.Sprintf("at least %.3g: the fit would not reach the "+
			"tolerance that the sensitivity counts with in %d steps", f.Lambda*f.condition()/mostCondition,
			mostDescent))
	case f.roundOff() > f.tolerance()/2:
		return config.Bad("fit_lambda", f.Lambda, "larger: double precision does not resolve the gradient "+
			"to the tolerance that the sensitivity counts with")
	case !math.IsInf(f.bound(), 1):
		return countedWith(&f.Records, f.Normaliser)
	}
	return nil
}

// countedWith refuses more records than condition and gradientError count with. Under
// add-remove a list may be longer than its normaliser by any factor. The error does not
// say how long it is.
func countedWith(r *Records, normaliser float64) error {
	if float64(len(r.Index)) > 2*normaliser {
		return config.Bad("batch_size", normaliser, "at least half the number of an owner's records: "+
			"what is charged for round-off counts with twice batch_size at most")
	}
	return nil
}

// bound is G; +Inf where the loss has no bounded gradient.
func (f *Fit) bound() float64 {
	x := f.Radius
	if f.GLM.Intercept {
		x = math.Hypot(x, 1)
	}
	return f.GLM.Slope * x
}

// condition bounds the curvature over 2λ, of up to twice m̄ records.
func (f *Fit) condition() float64 {
	x := f.bound() / f.GLM.Slope
	return 1 + 2*f.GLM.Curvature*x*x/(2*f.Lambda)
}

// cut brings targets to where no slope changes for it at any point as short as the
// minimiser: sums of losses of targets as large as a float32 resolve nothing else.
func (f *Fit) cut(y []float64) {
	if f.GLM.Saturates == 0 || math.IsInf(f.bound(), 1) {
		return
	}
	most := f.largest()*f.bound()/f.GLM.Slope*(1+1e-6) + f.GLM.Saturates
	for i, v := range y {
		y[i] = max(-most, min(most, v))
	}
}

// largest bounds the norm of the answer: projecting on a ball moves no two points apart.
func (f *Fit) largest() float64 { return f.bound() / (2 * f.Lambda) }

func (f *Fit) tolerance() float64 {
	if g := f.bound(); !math.IsInf(g, 1) {
		return Tolerance * g
	}
	return Tolerance
}

// roundOff bounds the error of a computed gradient; 0 where nothing bounds gradients, and
// nothing is guaranteed.
func (f *Fit) roundOff() float64 {
	if math.IsInf(f.bound(), 1) {
		return 0
	}
	// No iterate has a larger loss than 0, so that λ|θ|² is at most that.
	theta := min(2*f.largest(), math.Sqrt(2*f.GLM.AtZero/f.Lambda))
	return gradientError(f.GLM, f.Normaliser, f.Lambda, f.bound()/f.GLM.Slope, theta, 0, f.Dim)
}

// Describe states the release: its clip is what one record moves the minimiser by when it
// is added. A loss whose gradient has no bound has an infinite one, which every mechanism
// with noise refuses.
func (f *Fit) Describe(q *agent.Query) (account.Release, error) {
	if err := f.Validate(); err != nil {
		return account.Release{}, err
	}
	clip, s := f.bound()/(f.Normaliser*2*f.Lambda), shift(f.Adjacency)
	// for the next power of two, so that owners of about the same size have one
	// sensitivity
	if !math.IsInf(clip, 1) {
		s += (2*f.tolerance()/f.bound() + 0x1p-23) * math.Exp2(math.Ceil(math.Log2(f.Normaliser))) *
			(1 + 1e-12)
	}
	part := account.Part{Name: "model", Clip: clip, Shift: s, Norm: account.L2, Dim: f.Dim}
	return fullBatch(FitName, f.Adjacency, f.Unit, part, 1), checkPoint(q, f.Dim)
}

// Evaluate minimises. The query's point does not matter: the minimiser is unique.
func (f *Fit) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	x, y := gatherRows(&f.Records, f.GLM.Intercept, f.Radius)
	f.cut(y)
	n := newNewton(f.GLM, x, y, f.Normaliser, f.Lambda, f.Dim)
	n.run(f.tolerance() - f.roundOff())
	scale := 1.
	if size := norm(n.theta); size > f.largest() {
		scale = f.largest() / size
	}
	for i, x := range n.theta {
		dst.Float[i] = float32(scale * x)
	}
	clear(n.x)
	clear(n.theta)
}
