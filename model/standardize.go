package model

import (
	"math"

	"sotto/tensor"
)

// standardEpsilon keeps the variance of a filter from zero.
const standardEpsilon = 1e-5

// standardize computes the weights that the convolution uses: those of each filter less
// their mean, over the root of their variance plus 1e-5 (Qiao, Wang, Liu, Shen, Yuille
// 2019, "Micro-Batch Training with Batch-Channel Normalization and Weight
// Standardization"). Their room holds these weights, the reciprocal roots, and three more
// numbers a filter.
func (c *conv2d) standardize(p *pass) []float32 {
	d := c.filters
	a := c.standardRoom(p)
	used, inverse, mean, zero := a.take(c.weights()), a.take(d), a.take(d), a.take(d)
	sums, squares := p.doubles[:d], p.doubles[d:2*d]
	w := p.theta[:c.weights()]
	tensor.ChannelSums(sums, squares, w, w)
	n := float64(c.taps())
	for f := range d {
		m := sums[f] / n
		mean[f], zero[f] = float32(m), 0
		inverse[f] = float32(1 / math.Sqrt(max(squares[f]/n-m*m, 0)+standardEpsilon))
	}
	tensor.Normalize(used, w, mean, inverse, zero)
	return used
}

// standardGradient turns the gradient of the used weights, g, into that of the
// parameters: with v the used weights and r the reciprocal root, r (g - mean(g) - v
// mean(g v)) for each filter.
func (c *conv2d) standardGradient(g tensor.Vec, p *pass) {
	d := c.filters
	a := c.standardRoom(p)
	used, inverse, shift, slope, offset := a.take(c.weights()), a.take(d), a.take(d), a.take(d), a.take(d)
	g = g[:c.weights()]
	sums, products := p.doubles[:d], p.doubles[d:2*d]
	tensor.ChannelSums(sums, products, g, used)
	n := float64(c.taps())
	for f := range d {
		r := float64(inverse[f])
		shift[f], slope[f], offset[f] = 0, float32(-r*products[f]/n), float32(-r*sums[f]/n)
	}
	tensor.NormalizeGradient(g, g, used, shift, inverse, slope, offset)
}
