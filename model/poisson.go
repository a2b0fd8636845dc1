package model

import (
	"math"

	"sotto/config"
	"sotto/tensor"
)

// PoissonParams are the parameters of "poisson".
type PoissonParams struct {
	LinearParams
	// Largest is a public bound of counts, 1 to 1e6, default 10: counts are cut to it,
	// and no predicted mean is above it.
	Largest float64 `toml:"largest"`
}

// leastScore is what scores are raised to before their exponent is a prediction.
const leastScore = -50

// newPoisson builds "poisson": a log-linear model of a count y, with mean e^z at the
// linear score z = x·theta. The loss is half the deviance of a Poisson variable,
//
//	e^z - y z + y ln y - y
//
// and beyond z = ln L, with L = Largest, its tangent there, so that it stays convex. Its
// derivative e^z - y is then within [-L, L], and its second derivative within [0, L].
// Predict writes the mean e^z, of a score that is cut to [-50, ln L].
func newPoisson(decode func(params any) error, s Shape) (Model, error) {
	p := PoissonParams{Largest: 10}
	if err := decode(&p); err != nil {
		return nil, err
	}
	switch {
	case s.Classes != 0:
		return nil, config.Bad("classes", s.Classes, "0 (regression) for poisson")
	case !(p.Largest >= 1 && p.Largest <= 1e6):
		return nil, config.Bad("largest", p.Largest, "1 to 1000000")
	}
	f := poissonGLM(p.Largest)
	n := compose(poisson(f), true, linear{s.Features(), 1, p.Intercept})
	n.largest = p.Largest
	top := p.Largest * math.Log(p.Largest)
	n.glm = &GLM{Intercept: p.Intercept, Loss: f, Slope: p.Largest, Curvature: p.Largest,
		AtZero: max(1, 1+top-p.Largest)}
	return n, nil
}

// poissonGLM is the loss in double precision.
func poissonGLM(largest float64) func(z, y float64) (value, slope, curvature float64) {
	top := math.Log(largest)
	return func(z, y float64) (value, slope, curvature float64) {
		y = min(max(y, 0), largest)
		base := -y
		if y > 0 {
			base += y * math.Log(y)
		}
		if z > top {
			slope = largest - y
			return largest - y*top + slope*(z-top) + base, slope, 0
		}
		mean := math.Exp(z)
		return mean - y*z + base, mean - y, mean
	}
}

func poisson(f func(z, y float64) (value, slope, curvature float64)) loss {
	return func(z []float32, b *Batch, sample int, gradient []float32) float64 {
		value, slope, _ := f(float64(z[0]), float64(b.Targets[sample]))
		if gradient != nil {
			gradient[0] = float32(slope)
			return 0
		}
		return value
	}
}

// means turns scores into means where the model predicts counts.
func (n *network) means(z tensor.Vec) {
	if n.largest == 0 {
		return
	}
	top := math.Log(n.largest)
	for k, v := range z {
		z[k] = float32(math.Exp(min(max(float64(v), leastScore), top)))
	}
}

// Counts says whether m predicts the mean of a count.
func Counts(m Model) bool {
	n, ok := m.(*network)
	return ok && n.largest > 0
}

// weightOfCount is what a record's row counts in a matrix of second moments that stands
// for the curvature: at the best parameters the mean of a count is the second derivative
// of its loss, and on the way there from 0 neither that nor 1 is exceeded.
func weightOfCount(largest float64) func(y float64) float64 {
	return func(y float64) float64 { return min(max(y, 1), largest) }
}
