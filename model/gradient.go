package model

import (
	"math"

	"sotto/tensor"
)

// forward runs one chunk and returns the outputs.
func (n *network) forward(w *Workspace, x tensor.Mat) tensor.Mat {
	for i, l := range n.layers {
		p := &w.passes[i]
		p.y.Rows, p.dy.Rows, p.dx.Rows, p.scratch.Rows = x.Rows, x.Rows, x.Rows, x.Rows
		if p.x = x; n.wires[i].from >= 0 {
			p.x = w.passes[n.wires[i].from].y
		}
		if p.half != nil {
			p.rounded.Rows, p.x16.Rows, p.dy16.Rows = x.Rows, x.Rows, x.Rows
			round(p.rounded, p.x16, p.x)
			p.x = p.rounded
		}
		switch l.(type) {
		case fork:
			p.y = p.x
			continue
		case join:
			p.skip = w.passes[n.wires[i].skip].y
		}
		l.forward(p)
	}
	return w.passes[len(w.passes)-1].y
}

// backward runs a chunk forward and backward; row lo of the batch is row 0. It leaves
// squared gradient norms and every layer's dy in w.
func (n *network) backward(w *Workspace, batch *Batch, lo, hi int) {
	z := n.forward(w, rows(batch.X, lo, hi))
	dz := w.passes[len(w.passes)-1].dy
	views := batch.rowsOfRecord()
	norms := w.norms[:(hi-lo)/views]
	clear(norms)
	for s := range hi - lo {
		n.loss(z.Row(s), batch, lo+s, dz.Row(s))
		if views > 1 {
			dz.Row(s).Scale(1/float64(views), dz.Row(s)) // the record's gradient is the mean
		}
	}
	for i := len(n.layers) - 1; i >= 0; i-- {
		p := &w.passes[i]
		if p.half != nil {
			round(p.dy, p.dy16, p.dy)
		}
		if k, ok := n.layers[i].(learned); ok && !sums(k, p) {
			var alone [chunkRows]float64
			k.backward(p, alone[:hi-lo])
			if !p.plain {
				sumRows(k, p)
				addNorms(norms, p.kept)
			}
			continue
		}
		n.layers[i].backward(p, norms)
	}
}

// sums says whether the layer itself sums the gradients of a record's rows.
func sums(k learned, p *pass) bool {
	_, ok := k.(viewed)
	return ok || p.views == 1
}

// sumRows keeps the gradient of each record of a layer that knows single rows only.
func sumRows(k learned, p *pass) {
	spare := p.kept.Row(p.kept.Rows - 1)
	for r := range p.records() {
		sum := p.kept.Row(r)
		k.instantiate(sum, p, r*p.views)
		for s := r*p.views + 1; s < (r+1)*p.views; s++ {
			k.instantiate(spare, p, s)
			sum.AddScaled(1, spare)
		}
	}
}

// accumulate adds the chunk's scaled gradients to dst.
func (n *network) accumulate(dst tensor.Vec, w *Workspace, factors []float64) {
	for i, l := range n.layers {
		k, ok := l.(learned)
		if !ok {
			continue
		}
		if p := &w.passes[i]; sums(k, p) || p.plain {
			k.accumulate(n.part(dst, i), p, factors)
		} else {
			addKept(n.part(dst, i), p.kept, factors)
		}
	}
}

// settle turns the norms of a chunk into factors, 0 for records that are not finite, and
// counts.
func (w *Workspace) settle(count int, limit float64, stats *Stats) (dropped int) {
	longest := math.MaxFloat64
	if limit > math.MaxFloat32 {
		longest = math.MaxFloat32 // elements that are not scaled must fit float32
	}
	for s := range count {
		norm := math.Sqrt(w.norms[s])
		w.dropped[s] = !(norm <= longest)
		switch {
		case w.dropped[s]:
			w.factors[s] = 0
			dropped++
			continue
		case norm > limit:
			w.factors[s] = limit / norm
			stats.Clipped++
		default:
			w.factors[s] = 1
		}
	}
	stats.NonFinite += dropped
	return dropped
}

func (n *network) ClippedGradientSum(dst, theta tensor.Vec, batch *Batch, clip float64, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	if len(w.others) > 0 && batch.Len() > n.chunk(batch.rowsOfRecord()) {
		return n.splitSum(dst, theta, batch, clip, w)
	}
	return n.clippedSum(dst, theta, batch, clip, w)
}

// clippedSum is ClippedGradientSum by one worker, chunk by chunk.
func (n *network) clippedSum(dst, theta tensor.Vec, batch *Batch, clip float64, w *Workspace) Stats {
	if batch.Len() == 0 {
		return Stats{}
	}
	views := batch.rowsOfRecord()
	n.bind(w, theta, views, true)
	stats := Stats{Samples: batch.Len() / views}
	limit := 0.0
	if clip > 0 {
		limit = clip * (1 - clipShrink)
	}
	chunk := n.chunk(views)
	for lo := 0; lo < batch.Len(); lo += chunk {
		hi := min(lo+chunk, batch.Len())
		n.backward(w, batch, lo, hi)
		count := (hi - lo) / views
		if w.settle(count, limit, &stats) > 0 {
			n.drop(w, hi-lo, views)
		}
		n.accumulate(dst, w, w.factors[:count])
	}
	return stats
}

// GradientSum runs the layers without norms, and with factor 1 for every row.
func (n *network) GradientSum(dst, theta tensor.Vec, batch *Batch, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	views := batch.rowsOfRecord()
	n.bind(w, theta, views, true)
	for i := range w.passes {
		w.passes[i].plain = true
	}
	for s := range w.factors {
		w.factors[s] = 1
	}
	chunk := n.chunk(views)
	for lo := 0; lo < batch.Len(); lo += chunk {
		hi := min(lo+chunk, batch.Len())
		n.backward(w, batch, lo, hi)
		n.accumulate(dst, w, w.factors[:hi-lo])
	}
	return Stats{Samples: batch.Len() / views}
}

// drop writes zeros over the rows of records that are not finite: their factor 0 times
// NaN would not be 0. The caller's input is copied first.
func (n *network) drop(w *Workspace, count, views int) {
	x := w.passes[0].x
	own := tensor.Mat{Rows: count, Cols: x.Cols, Stride: x.Cols, Data: w.clean}
	for s := range count {
		copy(own.Row(s), x.Row(s))
	}
	for i := range w.passes {
		if p := &w.passes[i]; &p.x.Data[0] == &x.Data[0] {
			p.x = own
		}
	}
	for s := range count {
		if w.dropped[s/views] {
			for i := range w.passes {
				p := &w.passes[i]
				p.x.Row(s).Zero()
				p.dy.Row(s).Zero()
				if p.half != nil {
					clear(p.x16.Row(s))
					clear(p.dy16.Row(s))
				}
			}
		}
	}
}
