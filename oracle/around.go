package oracle

import (
	"math"

	"sotto/model"
	"sotto/tensor"
)

// Around minimises
//
//	(1/n) Σ_r l(θ; x_r, y_r) + λ |θ - prior|²
//
// over n records in double precision: the most likely parameters under a normal prior
// around the given ones, of variance 1/(2λn) each. λ is above 0. Nothing is clipped and
// nothing noised: the answer is for the owner of the records alone and must not leave it.
// Without usable records it is the prior.
func Around(glm model.GLM, r Records, prior tensor.Vec, lambda float64) tensor.Vec {
	d := len(prior)
	out := make(tensor.Vec, d)
	copy(out, prior)
	x, y := gatherRows(&r, glm.Intercept, math.Inf(1))
	if len(y) == 0 {
		return out
	}
	n := newNewton(glm, x, y, float64(len(y)), lambda, d)
	n.offset = make([]float64, len(y))
	size := 1.
	for k := range y {
		for i, v := range x[k*d : (k+1)*d] {
			n.offset[k] += v * float64(prior[i])
		}
		size = max(size, norm(x[k*d:(k+1)*d]))
	}
	n.run(1e-8 * size) // gradients are as long as records are
	for i, delta := range n.theta {
		out[i] = float32(float64(prior[i]) + delta)
	}
	return out
}
