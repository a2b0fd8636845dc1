package model

import (
	"math"

	"sotto/tensor"
)

// gridShrink is taken off the clip norm of the grid: the norm of an instantiated gradient is summed in
// float64, so 2^-20 covers every rounding before the truncation, which only shortens.
const gridShrink = 0x1p-20

// gridLimit bounds the norm of one sample in steps: integers above it need not fit int64.
const gridLimit = 0x1p62

// ClippedGradientGrid instantiates one sample's gradient at a time.
func (n *network) ClippedGradientGrid(dst []int64, theta tensor.Vec, batch *Batch, clip, step float64, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	n.bind(w, theta)
	stats := Stats{Samples: batch.Len()}
	if !(step > 0) || math.IsInf(step, 1) {
		return stats
	}
	limit := 0.0
	if clip > 0 {
		limit = clip * (1 - gridShrink)
	}
	gradient := w.sampleGradient(n.dim)
	for lo := 0; lo < batch.Len(); lo += chunkRows {
		hi := min(lo+chunkRows, batch.Len())
		n.backward(w, batch, lo, hi)
		for s := range hi - lo {
			for i, l := range n.layers {
				if k, ok := l.(learned); ok {
					k.instantiate(n.part(gradient, i), &w.passes[i], s)
				}
			}
			addOnGrid(dst, gradient, limit, step, w.losses[s], &stats)
		}
	}
	return stats.mean()
}

// addOnGrid adds one clipped gradient to dst.
func addOnGrid(dst []int64, gradient tensor.Vec, limit, step, loss float64, stats *Stats) {
	norm := math.Sqrt(tensor.SumSquares(gradient))
	if scaled := min(norm, limit); !(norm <= math.MaxFloat64) || !(scaled/step < gridLimit) {
		stats.NonFinite++
		return
	}
	stats.Loss += loss
	factor := 1.0
	if norm > limit {
		stats.Clipped++
		factor = limit / norm
	}
	for j, g := range gradient[:len(dst)] {
		dst[j] += int64(factor * float64(g) / step)
	}
}
