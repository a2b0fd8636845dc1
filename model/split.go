package model

import (
	"sync"

	"sotto/tensor"
)

// Split lets ClippedGradientSum of the networks here share the chunks of a batch among n
// goroutines, 1 for none: for a large network where there are fewer agents than
// processors. The bits of the result do not depend on n. Every goroutine needs the memory
// of a Workspace and a gradient, and a call allocates a little.
func (w *Workspace) Split(n int) {
	w.others = make([]Workspace, max(0, n-1))
	w.sums = make([]tensor.Vec, max(1, n))
}

// splitSum hands out as many chunks as there are goroutines, adds their sums in order,
// and goes on.
func (n *network) splitSum(dst, theta tensor.Vec, batch *Batch, clip float64, w *Workspace) Stats {
	chunk, workers := n.chunk(batch.rowsOfRecord()), len(w.sums)
	parts := make([]Stats, workers)
	var total Stats
	for lo := 0; lo < batch.Len(); lo += workers * chunk {
		var wait sync.WaitGroup
		for i := range workers {
			from, to := min(lo+i*chunk, batch.Len()), min(lo+(i+1)*chunk, batch.Len())
			if len(w.sums[i]) != n.dim {
				w.sums[i] = make(tensor.Vec, n.dim)
			}
			own := w
			if i > 0 {
				own = &w.others[i-1]
			}
			wait.Go(func() {
				w.sums[i].Zero()
				parts[i] = n.clippedSum(w.sums[i], theta, batch.part(from, to), clip, own)
			})
		}
		wait.Wait()
		for i, s := range parts {
			dst.AddScaled(1, w.sums[i])
			total.Samples += s.Samples
			total.Clipped += s.Clipped
			total.NonFinite += s.NonFinite
		}
	}
	return total
}

// part returns rows lo to hi; it shares memory with b.
func (b *Batch) part(lo, hi int) *Batch {
	p := &Batch{X: rows(b.X, lo, hi), Views: b.Views}
	if b.Labels != nil {
		p.Labels = b.Labels[lo:hi]
	}
	if b.Targets != nil {
		p.Targets = b.Targets[lo:hi]
	}
	return p
}
