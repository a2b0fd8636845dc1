package model

import (
	"fmt"
	"math"

	"sotto/tensor"
)

// chunkRows is the number of samples that go through the layers together. It is part of the definition of
// every result: the sum over a chunk is rounded before it is added to the batch's.
const chunkRows = 32

// clipShrink is taken off the clip norm, so that the rounding of a scaled float32 gradient (2^-24 for each
// element) and of its norm cannot lead above it.
const clipShrink = 1e-5

// network is a plain slice of layers with a loss on top.
type network struct {
	layers  []layer
	offsets []int // of each layer's parameters
	dim     int
	outputs int
	loss    loss
	targets bool // the loss reads Targets, not Labels

	floats, ints int // scratch of one chunk
	clean        int // elements of a private copy of the chunk's input
}

var (
	_ Model     = (*network)(nil)
	_ GridModel = (*network)(nil)
	_ Plain     = (*network)(nil)
)

// compose checks that each layer's output is the next one's input: a mismatch is a programming error.
func compose(l loss, targets bool, layers ...layer) *network {
	n := &network{layers: layers, loss: l, targets: targets}
	for i, x := range layers {
		s := x.size()
		if i > 0 && s.in != n.outputs {
			panic(fmt.Sprintf("model: layer %d takes %d inputs, layer %d gives %d", i, s.in, i-1, n.outputs))
		}
		n.offsets = append(n.offsets, n.dim)
		n.dim += s.params
		n.outputs = s.out
		n.floats += chunkRows*(2*s.out+s.scratch) + s.shared // y, dy, scratch
		n.ints += chunkRows * s.index
	}
	n.clean = chunkRows * layers[0].size().in
	n.floats += n.clean
	return n
}

func (n *network) Dim() int     { return n.dim }
func (n *network) Outputs() int { return n.outputs }

func (n *network) Init(dst tensor.Vec, r Source) {
	checkLen("destination", len(dst), n.dim)
	for i, l := range n.layers {
		if k, ok := l.(learned); ok {
			k.init(n.part(dst, i), r)
		}
	}
}

// part returns the parameters of layer i in v.
func (n *network) part(v tensor.Vec, i int) tensor.Vec {
	end := n.dim
	if i+1 < len(n.offsets) {
		end = n.offsets[i+1]
	}
	return v[n.offsets[i]:end:end]
}

func checkLen(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("model: %s of length %d, want %d", what, got, want))
	}
}

func (n *network) checkBatch(b *Batch) {
	if n.targets {
		checkLen("targets", len(b.Targets), b.Len())
	} else {
		checkLen("labels", len(b.Labels), b.Len())
	}
	n.checkInput(b.X)
}

func (n *network) checkInput(x tensor.Mat) {
	if x.Rows > 0 {
		checkLen("sample", x.Cols, n.layers[0].size().in)
	}
}

// bind lays the scratch of w out for this network and returns the memory for a copy of the input.
func (n *network) bind(w *Workspace, theta tensor.Vec) (clean []float32) {
	checkLen("parameters", len(theta), n.dim)
	floats, ints := arena{w.Floats(n.floats)}, w.indexes(n.ints)
	if cap(w.passes) < len(n.layers) {
		w.passes = make([]pass, len(n.layers))
	}
	w.passes = w.passes[:len(n.layers)]
	for i, l := range n.layers {
		s := l.size()
		p := &w.passes[i]
		*p = pass{theta: n.part(theta, i)}
		p.y = floats.mat(chunkRows, s.out)
		p.dy = floats.mat(chunkRows, s.out)
		p.scratch = floats.mat(chunkRows, s.scratch)
		p.shared = floats.take(s.shared)
		p.index, ints = ints[:chunkRows*s.index], ints[chunkRows*s.index:]
	}
	return floats.take(n.clean)
}

// forward runs one chunk of at most 32 rows and returns the outputs.
func (n *network) forward(w *Workspace, x tensor.Mat) tensor.Mat {
	for i, l := range n.layers {
		p := &w.passes[i]
		p.y.Rows, p.dy.Rows, p.scratch.Rows = x.Rows, x.Rows, x.Rows
		if p.x = x; i > 0 {
			p.x = w.passes[i-1].y
			p.dx = w.passes[i-1].dy
		}
		l.forward(p)
	}
	return w.passes[len(w.passes)-1].y
}

// backward runs a chunk forward and backward; sample lo of the batch is row 0. It leaves losses, squared
// gradient norms and every layer's dy in w.
func (n *network) backward(w *Workspace, batch *Batch, lo, hi int) {
	z := n.forward(w, rows(batch.X, lo, hi))
	dz := w.passes[len(w.passes)-1].dy
	for s := range hi - lo {
		w.losses[s] = n.loss(z.Row(s), batch, lo+s, dz.Row(s))
	}
	norms := w.norms[:hi-lo]
	clear(norms)
	for i := len(n.layers) - 1; i >= 0; i-- {
		n.layers[i].backward(&w.passes[i], norms)
	}
}

// settle turns the norms of a chunk into factors, 0 for samples that are not finite, and counts.
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
		stats.Loss += w.losses[s]
	}
	stats.NonFinite += dropped
	return dropped
}

func (n *network) ClippedGradientSum(dst, theta tensor.Vec, batch *Batch, clip float64, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	clean := n.bind(w, theta)
	stats := Stats{Samples: batch.Len()}
	limit := 0.0
	if clip > 0 {
		limit = clip * (1 - clipShrink)
	}
	for lo := 0; lo < batch.Len(); lo += chunkRows {
		hi := min(lo+chunkRows, batch.Len())
		n.backward(w, batch, lo, hi)
		if w.settle(hi-lo, limit, &stats) > 0 {
			n.drop(w, hi-lo, clean)
		}
		for i, l := range n.layers {
			if k, ok := l.(learned); ok {
				k.accumulate(n.part(dst, i), &w.passes[i], w.factors[:hi-lo])
			}
		}
	}
	return stats.mean()
}

// GradientSum runs the layers without norms, and with factor 1 for every sample.
func (n *network) GradientSum(dst, theta tensor.Vec, batch *Batch, w *Workspace) Stats {
	checkLen("destination", len(dst), n.dim)
	n.checkBatch(batch)
	n.bind(w, theta)
	for i := range w.passes {
		w.passes[i].plain = true
	}
	stats := Stats{Samples: batch.Len()}
	for s := range w.factors {
		w.factors[s] = 1
	}
	for lo := 0; lo < batch.Len(); lo += chunkRows {
		hi := min(lo+chunkRows, batch.Len())
		n.backward(w, batch, lo, hi)
		for s := range hi - lo {
			stats.Loss += w.losses[s]
		}
		for i, l := range n.layers {
			if k, ok := l.(learned); ok {
				k.accumulate(n.part(dst, i), &w.passes[i], w.factors[:hi-lo])
			}
		}
	}
	return stats.mean()
}

// mean turns the sum of losses into their mean.
func (s Stats) mean() Stats {
	if finite := s.Samples - s.NonFinite; finite > 0 {
		s.Loss /= float64(finite)
	}
	return s
}

// drop writes zeros over the rows of samples that are not finite: their factor 0 times NaN would not be 0.
// The caller's input is copied first.
func (n *network) drop(w *Workspace, count int, clean []float32) {
	x := w.passes[0].x
	own := tensor.Mat{Rows: count, Cols: x.Cols, Stride: x.Cols, Data: clean}
	for s := range count {
		copy(own.Row(s), x.Row(s))
	}
	w.passes[0].x = own
	for s := range count {
		if w.dropped[s] {
			for i := range w.passes {
				w.passes[i].x.Row(s).Zero()
				w.passes[i].dy.Row(s).Zero()
			}
		}
	}
}

func (n *network) Predict(dst tensor.Mat, theta tensor.Vec, x tensor.Mat, w *Workspace) {
	n.checkInput(x)
	checkLen("prediction", dst.Rows, x.Rows)
	checkLen("prediction row", dst.Cols, n.outputs)
	n.bind(w, theta)
	for lo := 0; lo < x.Rows; lo += chunkRows {
		hi := min(lo+chunkRows, x.Rows)
		z := n.forward(w, rows(x, lo, hi))
		for s := range z.Rows {
			copy(dst.Row(lo+s), z.Row(s))
		}
	}
}

func (n *network) Loss(theta tensor.Vec, batch *Batch, w *Workspace) float64 {
	return n.evaluate(theta, batch, w).Loss
}
