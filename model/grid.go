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

// ClippedGradientGrid instantiates one record's gradient at a time.
func (n *network) ClippedGradientGrid(dst []int64, theta tensor.Vec, batch *Batch, clip, step float64, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	views := batch.rowsOfRecord()
	n.bind(w, theta, views, true)
	stats := Stats{Samples: batch.Len() / views}
	if !(step > 0) || math.IsInf(step, 1) {
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
		for r := range (hi - lo) / views {
			n.instantiate(gradient, w, r)
			addOnGrid(dst, gradient, limit, step, w.losses[r], &stats)
		}
	}
	return stats.mean()
}

// instantiate writes the gradient of record r of the chunk.
func (n *network) instantiate(gradient tensor.Vec, w *Workspace, r int) {
	for i, l := range n.layers {
		k, ok := l.(learned)
		if !ok {
			continue
		}
		if p := &w.passes[i]; sums(k, p) {
			k.instantiate(n.part(gradient, i), p, r)
		} else {
			copy(n.part(gradient, i), p.kept.Row(r))
		}
	}
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
