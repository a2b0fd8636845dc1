package model

import "math"

// GLM is what a generalized linear model has beside its layers: one output z = x·w (+ b),
// and a loss of z that is convex.
type GLM struct {
	Intercept bool // the last parameter is b
	// Loss returns the loss of z, its derivative and its second derivative. y is the
	// target of a regression, or +1 for label 1 and -1 for label 0.
	Loss func(z, y float64) (value, slope, curvature float64)
	// Slope bounds the derivative's size; +Inf where nothing does.
	Slope float64
	// Curvature bounds the second derivative.
	Curvature float64
	// AtZero bounds the loss at z = 0; +Inf where targets have no bound.
	AtZero float64
	// Quadratic says that the second derivative is the same everywhere.
	Quadratic bool
}

// Linear returns the generalized linear model that m is; false where it is none of one
// output.
func Linear(m Model) (GLM, bool) {
	n, ok := m.(*network)
	if !ok || n.glm == nil {
		return GLM{}, false
	}
	return *n.glm, true
}

func logisticGLM(z, y float64) (value, slope, curvature float64) {
	margin := y * z
	e := math.Exp(-math.Abs(margin))
	p := e / (1 + e) // of the smaller side
	value = math.Log1p(e) + math.Max(-margin, 0)
	slope = -y * p
	if margin < 0 {
		slope = -y / (1 + e)
	}
	return value, slope, e / ((1 + e) * (1 + e))
}

func squaredGLM(z, y float64) (value, slope, curvature float64) {
	r := z - y
	return r * r, 2 * r, 2
}

func huberGLM(delta float64) func(z, y float64) (value, slope, curvature float64) {
	return func(z, y float64) (value, slope, curvature float64) {
		r := z - y
		if math.Abs(r) <= delta {
			return r * r / 2, r, 1
		}
		return delta * (math.Abs(r) - delta/2), math.Copysign(delta, r), 0
	}
}

// HuberParams are the parameters of "huber".
type HuberParams struct {
	LinearParams
	Delta float64 `toml:"delta"` // residual from which on the loss is linear, 1e-6 to 1e6; default 1
}

// newHuber builds "huber": a linear regression whose gradients are bounded by delta times
// the norm of the features.
func newHuber(decode func(params any) error, s Shape) (Model, error) {
	p := HuberParams{Delta: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	o, err := newLoss("huber", p.Delta, s)
	if err != nil {
		return nil, err
	}
	n := compose(o.f, true, linear{s.Features(), 1, p.Intercept})
	n.glm = &GLM{Intercept: p.Intercept, Loss: huberGLM(p.Delta), Slope: p.Delta, Curvature: 1,
		AtZero: math.Inf(1)}
	return n, nil
}
