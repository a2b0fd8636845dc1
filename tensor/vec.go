// Package tensor holds the float32 vectors and matrices that everything in sotto computes
// with.
//
// A parameter vector is one flat [Vec]; models own ranges of it. Storage is float32,
// reductions (dot products, norms, weighted sums) accumulate in float64, in a fixed
// order. Elements of a vector do not depend on how a caller splits the work.
//
// Lengths that do not fit are programming errors. Where a function panics for a slice
// that is too short, it is the slice's capacity that counts, as in slicing.
//
// Products, the convolution and the elementwise functions have assembly kernels for
// AVX-512 and for AVX2 with FMA; see [Kernels]. Both give the same bits. Elsewhere, and
// on demand, Go code does the work; products, convolutions and [SumSquares] then differ
// in the last bits, everything else does not. Products of matrices rounded to bfloat16
// use the tiles of AMX where the machine has them; see [HasAMX].
package tensor

import "math"

// Vec is a dense vector of float32. Methods that compute a vector write it to the
// receiver. An argument has the receiver's length: a shorter one is a programming error,
// and panics as slicing out of range does; of a longer one the rest is not looked at.
type Vec []float32

// Zero sets every element to 0.
func (v Vec) Zero() { clear(v) }

// Scale sets v = a*x. v may be x.
func (v Vec) Scale(a float64, x Vec) {
	x = x[:len(v)]
	f := float32(a)
	for i := fastScale(v, x, f); i < len(v); i++ {
		v[i] = f * x[i]
	}
}

// AddScaled sets v = v + a*x.
func (v Vec) AddScaled(a float64, x Vec) {
	x = x[:len(v)]
	f := float32(a)
	for i := fastAddScaled(v, x, f); i < len(v); i++ {
		v[i] += float32(f * x[i])
	}
}

// Dot returns the inner product of v and x, accumulated in float64 from low to high
// index.
func (v Vec) Dot(x Vec) float64 {
	x = x[:len(v)]
	var s float64
	for i := range v {
		s += float64(v[i]) * float64(x[i])
	}
	return s
}

// Norm returns the Euclidean norm of v, accumulated in float64.
func (v Vec) Norm() float64 { return math.Sqrt(v.Dot(v)) }

// Finite reports whether no element is NaN or infinite.
func (v Vec) Finite() bool {
	done, ok := fastFinite(v)
	for _, x := range v[done:] {
		if x-x != 0 {
			return false
		}
	}
	return ok
}

// WeightedSum sets dst = sum over j of weights[j]*xs[j], each element accumulated in
// float64 in the order of j and rounded once. dst may be one of xs. It panics when
// len(weights) != len(xs), or one of xs is shorter than dst.
func WeightedSum(dst Vec, weights []float64, xs []Vec) {
	if len(weights) != len(xs) {
		panic("tensor: WeightedSum needs one weight for each vector")
	}
	for _, x := range xs {
		if len(x) < len(dst) {
			panic("tensor: WeightedSum needs vectors as long as their sum")
		}
	}
	for i := fastWeightedSum(dst, weights, xs); i < len(dst); i++ {
		var s float64
		for j, w := range weights {
			s += float64(w * float64(xs[j][i]))
		}
		dst[i] = float32(s)
	}
}

// Mat is a row-major matrix view: element (i, j) is Data[i*Stride+j].
type Mat struct {
	Rows, Cols, Stride int
	Data               []float32
}

// NewMat returns a zero matrix with Stride equal to cols.
func NewMat(rows, cols int) Mat {
	return Mat{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

// Slice returns rows lo to hi of m, 0 <= lo <= hi <= m.Rows, which nobody checks; it
// shares memory with m.
func (m Mat) Slice(lo, hi int) Mat {
	if lo < hi {
		m.Data = m.Data[lo*m.Stride:]
	}
	m.Rows = hi - lo
	return m
}

// Row returns row i; it shares memory with m.
func (m Mat) Row(i int) Vec { return Vec(m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]) }
