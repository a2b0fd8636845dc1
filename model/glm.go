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
	// Saturates is, above 0, how far z and y are apart where the slope no longer changes.
	Saturates float64
	// AtZero bounds the loss at z = 0; +Inf where targets have no bound.
	AtZero float64
	// Quadratic says that the second derivative is the same everywhere.
	Quadratic bool
}

// Linear returns the generalized linear model of the samples themselves that m is; false
// where it is none of one output.
func Linear(m Model) (GLM, bool) {
	n, ok := m.(*network)
	if !ok || n.glm == nil {
		return GLM{}, false
	}
	if _, additive := CurvesOf(m); additive {
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
		Saturates: p.Delta,
		AtZero:    math.Inf(1)}
	return n, nil
}

// Table is what a model whose outputs z = Wᵀx (+ b) are linear in its parameters has
// beside its layers. The parameters are a matrix by row, one for each feature and then
// one for the constant.
type Table struct {
	Outputs   int
	Intercept bool
	// Slopes sets dst to the derivative of the loss by the outputs z. y is the target of
	// a regression, else the label.
	Slopes func(dst, z []float64, y float64)
	// Slope bounds the norm of that derivative; +Inf where nothing does.
	Slope float64
	// Curvature bounds the eigenvalues of the second derivative by the outputs. Where
	// Weight is set it bounds what they are over the weight, on the way to the best
	// parameters and in the mean over records alike in x.
	Curvature float64
	// Weight is what the row of a record with target y counts in moments that stand for
	// the curvature, at least 0 and at most Heaviest; nil: 1.
	Weight   func(y float64) float64
	Heaviest float64 // 1 without Weight
	// Quadratic says that the loss is (z - y)².
	Quadratic bool
	// Spread writes the features that a sample becomes, nil: itself; and Curves are the
	// shape functions that their weights make.
	Spread func(dst, x []float32)
	Curves []Curve
}

// TableOf returns what m is; false where its outputs are not linear in its parameters.
func TableOf(m Model) (Table, bool) {
	n, ok := m.(*network)
	if !ok || n.glm == nil && !n.softmax {
		return Table{}, false
	}
	var t Table
	if n.softmax {
		// A covariance of one draw among classes has no eigenvalue above 1/2 (Böhning
		// 1992), and a difference of two distributions no norm above √2.
		l := n.layers[len(n.layers)-1].(linear)
		t = Table{Outputs: l.out, Intercept: l.bias, Slopes: softmaxSlopes, Slope: math.Sqrt2, Curvature: .5,
			Heaviest: 1}
	} else {
		loss, labels := n.glm.Loss, !n.targets
		slopes := func(dst, z []float64, y float64) {
			if labels {
				y = 2*y - 1
			}
			_, dst[0], _ = loss(z[0], y)
		}
		t = Table{Outputs: 1, Intercept: n.glm.Intercept, Slopes: slopes, Slope: n.glm.Slope,
			Curvature: n.glm.Curvature, Quadratic: n.glm.Quadratic, Heaviest: 1}
	}
	if n.largest > 0 {
		t.Curvature, t.Weight, t.Heaviest = 1, weightOfCount(n.largest), n.largest
	}
	if h, ok := n.layers[0].(knots); ok {
		t.Spread, t.Curves = h.spread, h.curves()
	}
	return t, true
}

// softmaxSlopes is the derivative of softmaxCrossEntropy.
func softmaxSlopes(dst, z []float64, y float64) {
	top, sum := z[0], 0.
	for _, v := range z {
		top = math.Max(top, v)
	}
	for k, v := range z {
		dst[k] = math.Exp(v - top)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
	dst[int(y)]--
}
