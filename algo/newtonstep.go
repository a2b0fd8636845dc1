package algo

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/tensor"
)

// solver holds the averaged moments.
type solver struct {
	ready   bool
	moments tensor.Vec // and behind them the variance of an agent's noise
	values  []float64  // eigenvalues of H
	vectors mat.Dense  // its eigenvectors, by column
	targets []float64  // b̄, where the loss is a square
}

// curvature is c; a square's 2 is left out on both sides.
func (a *Newton) curvature() float64 {
	if a.square() {
		return 1
	}
	return a.table.Curvature
}

// matrix returns c times the averaged moments of the features, upper triangle by row, and
// of a square those with the target.
func (a *Newton) matrix() (h, b []float64) {
	p, c, at := a.rows(), a.curvature(), 0
	h = make([]float64, p*p)
	for i := range a.order() {
		for j := i; j < a.order(); j++ {
			v := c * float64(a.moments[at])
			if at++; i != j {
				v /= math.Sqrt2
			}
			switch {
			case j < p:
				h[i*p+j] = v
			case i < p:
				b = append(b, v)
			}
		}
	}
	return h, b
}

// invert makes H^-1 ready.
func (a *Newton) invert() {
	h, b := a.matrix()
	p, c := a.rows(), a.curvature()
	variance := float64(a.moments[len(a.moments)-1]) / float64(max(1, a.agents))
	least, trace := a.p.Ridge*c*math.Sqrt(2*float64(p)*max(0, variance)), 0.
	for i := range p {
		trace += h[i*p+i]
	}
	least = max(least, 1e-5*trace/float64(p))
	if !(least > 0) {
		least = c * a.table.Norm * a.table.Norm
	}
	var eigen mat.EigenSym
	if a.ready = eigen.Factorize(mat.NewSymDense(p, h), true); !a.ready {
		return
	}
	a.values = eigen.Values(nil)
	for i, v := range a.values {
		a.values[i] = max(v, least)
	}
	eigen.VectorsTo(&a.vectors)
	a.targets = b
}

// newtonStep takes θ one step along H^-1 ḡ, or to H^-1 b̄. A step that is not finite is
// none.
func (a *Newton) newtonStep() {
	if !a.ready {
		return
	}
	p, k := a.rows(), a.table.Outputs
	g, next := mat.NewVecDense(p, nil), a.next[:len(a.theta)]
	for o := range k {
		for i := range p {
			if a.square() {
				g.SetVec(i, a.targets[i])
			} else {
				g.SetVec(i, float64(a.y[i*k+o]))
			}
		}
		var along, step mat.VecDense
		along.MulVec(a.vectors.T(), g)
		for i, v := range a.values {
			along.SetVec(i, along.AtVec(i)/v)
		}
		step.MulVec(&a.vectors, &along)
		for i := range p {
			if next[i*k+o] = float32(step.AtVec(i)); !a.square() {
				next[i*k+o] = float32(float64(a.theta[i*k+o]) - step.AtVec(i))
			}
		}
	}
	if next.Finite() {
		copy(a.theta, next)
	}
}
