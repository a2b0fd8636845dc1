package tensor

import (
	"errors"
	"math"
	"sync"
)

// errArithmetic says that proofs about float32 do not hold in this process.
var errArithmetic = errors.New("tensor: the processor does not round to nearest, or flushes subnormal " +
	"numbers to zero: what is proven of sums does not hold")

// Arithmetic checks once that this process rounds to nearest, ties to even, and does not
// flush to zero, in Go's own code and in the kernels. Programs that embed this one can
// set the processor otherwise. bfloat16 products are not asked: nothing is proven of
// them.
var Arithmetic = sync.OnceValue(func() error {
	product := func(a, b float32) float32 { // by the kernels of matrix products
		const n = 32
		x, y, z := NewMat(n, n), NewMat(n, n), NewMat(n, n)
		for i := range n {
			x.Row(i)[0] = a
			y.Row(0)[i] = b
		}
		MulNN(z, x, y, false)
		if z.Row(n - 1)[n-1] != z.Row(0)[0] {
			return float32(math.NaN())
		}
		return z.Row(0)[0]
	}
	sum := func(a, b float32) float32 { // by those of vectors
		x, y := make(Vec, 33), make(Vec, 33)
		for i := range x {
			x[i], y[i] = a, b
		}
		x.AddScaled(1, y)
		if x[32] != x[0] {
			return float32(math.NaN())
		}
		return x[0]
	}
	own := func(a, b float32) float32 { return a * b }
	return errors.Join(arithmetic(product, sum), arithmetic(own, func(a, b float32) float32 { return a + b }))
})

// arithmetic is Arithmetic of two operations.
func arithmetic(product, sum func(a, b float32) float32) error {
	const ulp = 0x1p-23 // of 1
	for _, c := range []struct{ got, want float32 }{
		{product(0x1p-100, 0x1p-40), 0x1p-140},
		{product(0x1p-149, .5), 0},
		{product(0x1p-149, .75), 0x1p-149},
		{product(-0x1p-126, .5), -0x1p-127},
		{sum(1, ulp/2), 1},
		{sum(1+ulp, ulp/2), 1 + 2*ulp},
		{sum(-1, -.75*ulp), -1 - ulp},
		{sum(1, -.125*ulp), 1},
		{sum(0x1p-127, 0x1p-140), 0x1p-127 + 0x1p-140},
	} {
		if c.got != c.want {
			return errArithmetic
		}
	}
	return nil
}
