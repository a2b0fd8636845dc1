package model

import (
	"math"

	"sotto/tensor"
)

// gridShrink is taken off the clip norm of the grid: norms are summed, and products
// formed, in float64, so 2^-20 covers every rounding before the truncation, which only
// shortens.
const gridShrink = 0x1p-20

// gridLimit bounds the norm of one sample in steps: integers above it need not fit int64.
const gridLimit = 0x1p62

// leastStep is the smallest step, so that its reciprocal is finite.
const leastStep = 0x1p-1000

// gridSmall bounds the norm of one sample in steps for which vector kernels convert
// elements to integers.
const gridSmall = 0x1p30

// outer is a layer whose gradient of a record of one row is an outer product, which need
// not be instantiated.
type outer interface {
	// addSquares adds the squared norm of each row's gradient to norms.
	addSquares(norms []float64, p *pass)
	// addOuter adds k times the gradient of row s to dst, each element truncated; small
	// says that all are below 2^31.
	addOuter(dst []int64, p *pass, s int, k float64, small bool)
}

// ClippedGradientGrid adds one record's gradient at a time. Layers that are no outer
// products instantiate it.
func (n *network) ClippedGradientGrid(dst []int64, theta tensor.Vec, batch *Batch, clip, step float64,
	w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	views := batch.rowsOfRecord()
	n.bind(w, theta, views, true)
	stats := Stats{Samples: batch.Len() / views}
	if !(step >= leastStep) || math.IsInf(step, 1) {
		return stats
	}
	limit := 0.0
	if clip > 0 {
		limit = clip * (1 - gridShrink)
	}
	gradient := w.sampleGradient(n.dim)
	chunk := n.chunk(views)
	for lo := 0; lo < batch.Len(); lo += chunk {
		hi := min(lo+chunk, batch.Len())
		n.backward(w, batch, lo, hi)
		squares := w.norms[:(hi-lo)/views]
		clear(squares)
		for i, l := range n.layers {
			if o, ok := l.(outer); ok && views == 1 {
				o.addSquares(squares, &w.passes[i])
			}
		}
		for r := range squares {
			n.addOnGrid(dst, gradient, w, r, limit, step, &stats)
		}
	}
	return stats
}

// addOnGrid adds the clipped gradient of record r of the chunk to dst. w.norms has the
// squares of its outer products.
func (n *network) addOnGrid(dst []int64, gradient tensor.Vec, w *Workspace, r int, limit, step float64,
	stats *Stats) {
	squares := w.norms[r]
	for i, l := range n.layers {
		k, ok := l.(learned)
		if !ok {
			continue
		}
		p := &w.passes[i]
		if _, ok := l.(outer); ok && p.views == 1 {
			continue
		}
		part := n.part(gradient, i)
		if sums(k, p) {
			k.instantiate(part, p, r)
		} else {
			copy(part, p.kept.Row(r))
		}
		squares += tensor.SumSquares(part)
	}
	norm := math.Sqrt(squares)
	scaled := min(norm, limit)
	if !(norm <= math.MaxFloat64) || !(scaled/step < gridLimit) {
		stats.NonFinite++
		return
	}
	factor := 1 / step
	if norm > limit {
		stats.Clipped++
		factor = limit / norm / step
	}
	small := scaled/step < gridSmall
	for i, l := range n.layers {
		if _, ok := l.(learned); !ok {
			continue
		}
		p := &w.passes[i]
		to := dst[n.offsets[i]:][:l.size().params]
		if o, ok := l.(outer); ok && p.views == 1 {
			o.addOuter(to, p, r, factor, small)
		} else {
			addTruncated(to, n.part(gradient, i), factor, small)
		}
	}
}

// addTruncated is tensor.AddTruncated, for products of any size that fit int64.
func addTruncated(dst []int64, x []float32, k float64, small bool) {
	if small {
		tensor.AddTruncated(dst, x, k)
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] += int64(k * float64(v))
	}
}
