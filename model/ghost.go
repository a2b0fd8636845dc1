package model

import (
	"math"

	"sotto/tensor"
)

// Norms from Gram matrices. The gradient of a record is the sum over its positions t of
// the outer product of a patch a_t and an output gradient b_t, so its squared norm is the
// sum over t and u of (a_t·a_u)(b_t·b_u). In float32 that can cancel to less than the
// norm, which would let the record through with a factor too large. What is used instead
// is never below the norm of the gradient: with |a_t| and |b_t| in float64 and S the sum
// of |a_t||b_t|,
//
//	norm^2 <= sum + (gamma_a + gamma_b + gamma_a gamma_b) S^2 + underflow
//
// where a dot product of length n in blocks of 256 has error at most gamma |a_t||a_u|,
// gamma = N u/(1 - N u), u = 2^-24, with N = 257 plus the number of blocks (Higham 2002,
// "Accuracy and Stability of Numerical Algorithms", section 3.1). The scaled sum later
// rounds the elements of b_t toward zero, by at most 2^-23 of them each, which in sums
// that cancel need not shorten: 2^-23 S is added to the norm. Where products are in
// bfloat16 they are rounded to nearest there, by at most 2^-8 more, and 2^-8 S is added.
//
// The norm is also taken to be at least S/mostCancellation: what float32 loses in the sum
// of all records is at most a share of S (SumError), which the clip then bounds too. S is
// about the square root of the number of positions times the norm, so that this lengthens
// no gradient that was seen in training.

const (
	// Squared lengths between which no dot product overflows, and what underflows is far
	// below clipShrink of any clip norm.
	leastSquares, maxPatch, maxGradient = 1e-25, 1e8, 1e25

	mostCancellation = 16
)

// gamma bounds the relative error of a dot product of n elements.
func gamma(n int) float64 {
	e := float64(blockPositions+1+(n+blockPositions-1)/blockPositions) * 0x1p-24
	return e / (1 - e)
}

// gramNorm returns a bound on the squared gradient norm of record r, larger than the norm
// itself by about gamma times the number of positions at most. Where numbers are too
// large or too small for that it is the squared norm of the gradient itself, and the
// record's scratch is 1.
func (c *conv2d) gramNorm(p *pass, r int) float64 {
	first, _, grams, temp := c.room(p)
	t := c.positions() * p.views
	ga, gb := matrix(grams, 0, t, t), matrix(grams[t*t:], 0, t, t)
	a2, b2 := p.doubles[:t], p.doubles[t:2*t]
	dy := matrix(p.dy.Data, r*t, t, c.filters)
	tensor.MulNT(gb, dy, dy, false)
	for i := range t {
		a2[i], b2[i] = 0, tensor.SumSquares(dy.Row(i))
	}
	data, stride := images(temp, p.x, r*p.views, p.views, &c.window, c.padding)
	step := slice(c.taps(), c.filters)
	blocks := 0
	for lo := 0; lo < c.taps(); lo += step {
		n := min(step, c.taps()-lo)
		s, _ := (span{}).next(&c.window, p.views) // t <= 256: there is one block
		block := c.patches(p, s, data, stride, lo, n)
		tensor.MulNT(ga, block, block, lo > 0)
		for i := range t {
			a2[i] += tensor.SumSquares(block.Row(i))
		}
		blocks += (n + blockPositions) / blockPositions
	}
	apart := &p.scratch.Row(r * p.views)[0]
	*apart = 0
	a, b := spread(a2, maxPatch), spread(b2, maxGradient)
	switch {
	case a < 0 || b < 0:
	case a == 0 || b == 0:
		return 0
	default:
		rounding := 0x1p-23
		if p.half != nil {
			rounding = 0x1p-8 * (1 + 0x1p-10)
		}
		return c.bound(ga, gb, a2, b2, blocks, rounding)
	}
	*apart = 1
	var squares float64
	from := p.images(temp, operand{p.x, p.x16}, r*p.views, p.views, &c.window, c.padding)
	for lo := 0; lo < c.taps(); lo += step {
		n := min(step, c.taps()-lo)
		part := matrix(first, 0, n+c.ones(lo, n), c.filters)
		c.sliceGradient(part, p, r*p.views, p.views, from, lo, n)
		squares += tensor.SumSquares(part.Data)
	}
	return squares
}

// spread returns the largest of squares; -1 if it is not between leastSquares and most, 0
// if all are 0.
func spread(squares []float64, most float64) float64 {
	var top float64
	for _, v := range squares {
		if !(v <= most) {
			return -1
		}
		top = max(top, v)
	}
	if top != 0 && top < leastSquares {
		return -1
	}
	return top
}

// bound is the formula above. blocks is the number of chains of a dot product of patches,
// rounding what the scaled sum does to an element of b_t.
func (c *geometry) bound(ga, gb tensor.Mat, a2, b2 []float64, blocks int, rounding float64) float64 {
	var sum, s, sumA, sumB float64
	for i := range a2 {
		row := gb.Row(i)
		for j, v := range ga.Row(i) {
			sum += float64(v) * float64(row[j])
		}
		a, b := math.Sqrt(a2[i]), math.Sqrt(b2[i])
		s += a * b
		sumA += a
		sumB += b
	}
	x, y := gamma(blocks*blockPositions), gamma(c.filters)
	tinyA, tinyB := float64(c.taps()+1)*0x1p-149, float64(c.filters)*0x1p-149
	n := float64(len(a2))
	squares := max(sum, 0) + (x+y+x*y)*s*s + tinyA*sumB*sumB + tinyB*sumA*sumA + tinyA*tinyB*n*n
	norm := max(math.Sqrt(squares)+rounding*s, s/mostCancellation)
	return norm * norm * (1 + 1e-9)
}
