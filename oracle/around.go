package oracle

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/model"
	"sotto/tensor"
)

// Own fits one owner's records around priors, for the owner alone: nothing is clipped and
// nothing noised, and no answer may leave. It is for one goroutine.
type Own struct {
	glm   model.GLM
	x     []float64 // rows of rank values, see basis
	full  []float64 // rows of d values
	y     []float64
	basis *mat.Dense // rank x d, orthonormal rows that span those of full; nil: x is full
	d     int
	size  float64 // of the longest row, at least 1
	last  []float64
	// filled are the features of each record that are not 0, where most are.
	filled [][]int32
}

// NewOwn takes an owner's records, of a model of d parameters. Those with a value that is
// not finite are left out.
func NewOwn(glm model.GLM, r Records, d int) *Own {
	o := &Own{glm: glm, d: d, size: 1}
	o.full, o.y = gatherRows(&r, glm.Intercept, math.Inf(1))
	o.x = o.full
	for k := range o.y {
		o.size = max(o.size, norm(o.full[k*d:(k+1)*d]))
	}
	if n := len(o.y); 0 < n && n < d {
		o.reduce()
	} else {
		o.fill()
	}
	return o
}

// fill finds the features that are not 0, where they are fewer than a third.
func (o *Own) fill() {
	all, lists := 0, make([][]int32, len(o.y))
	for k := range o.y {
		for i, v := range o.full[k*o.d : (k+1)*o.d] {
			if v != 0 {
				lists[k] = append(lists[k], int32(i))
			}
		}
		all += len(lists[k])
	}
	if 3*all < len(o.full) {
		o.filled = lists
	}
}

// reduce writes the records in a basis of the space that they span: parameters leave
// their prior in that space alone, as a penalty of their length asks for.
func (o *Own) reduce() {
	n := len(o.y)
	full := mat.NewDense(n, o.d, o.full)
	var gram mat.SymDense
	gram.SymOuterK(1, full)
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return
	}
	values := eigen.Values(nil)
	first := 0
	for first < n && values[first] <= 1e-12*values[n-1] {
		first++
	}
	rank := n - first
	if rank == 0 {
		return
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	o.basis = mat.NewDense(rank, o.d, nil)
	o.basis.Mul(vectors.Slice(0, n, first, n).T(), full)
	for k := range rank {
		row := o.basis.RawRowView(k)
		for i := range row {
			row[i] /= math.Sqrt(values[first+k])
		}
	}
	x := mat.NewDense(n, rank, nil)
	x.Mul(full, o.basis.T())
	o.x = x.RawMatrix().Data
}

// mostOwn bounds the accelerated steps of Around, on which no guarantee rests. One record
// with a feature of 1e15 would have it take millions.
const mostOwn = 1000

// Around minimises
//
//	(1/n) Σ_r l(θ; x_r, y_r) + λ |θ - prior|²
//
// over the n records in double precision: the most likely parameters under a normal prior
// around the given ones, of variance 1/(2λn) each. λ is above 0. The gradient's norm at
// the answer is at most tolerance times the longest record's, or times 1, but for records
// so uneven that mostOwn steps do not reach it. Without usable records the answer is the
// prior. Calls with the same prior and neighboring λ one after the other are quickest.
func (o *Own) Around(prior tensor.Vec, lambda, tolerance float64) tensor.Vec {
	out := make(tensor.Vec, o.d)
	copy(out, prior)
	if len(o.y) == 0 {
		return out
	}
	rank := len(o.x) / len(o.y)
	n := newNewton(o.glm, o.x, o.y, float64(len(o.y)), lambda, rank)
	n.offset, n.filled, n.most = make([]float64, len(o.y)), o.filled, mostOwn
	for k := range o.y {
		for i, v := range o.full[k*o.d : (k+1)*o.d] {
			n.offset[k] += v * float64(prior[i])
		}
	}
	if len(o.last) == rank {
		copy(n.theta, o.last)
	}
	n.run(tolerance * o.size) // gradients are as long as records are
	o.last = n.theta
	delta := n.theta
	if o.basis != nil {
		var back mat.VecDense
		back.MulVec(o.basis.T(), mat.NewVecDense(rank, n.theta))
		delta = back.RawVector().Data
	}
	for i, v := range delta {
		out[i] = float32(float64(prior[i]) + v)
	}
	return out
}

// Forget makes the next call of Around start at its prior.
func (o *Own) Forget() { o.last = nil }

// Around is that of an owner's records, to 1e-8.
func Around(glm model.GLM, r Records, prior tensor.Vec, lambda float64) tensor.Vec {
	return NewOwn(glm, r, len(prior)).Around(prior, lambda, 1e-8)
}
