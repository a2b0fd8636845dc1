package model

import (
	"fmt"

	"sotto/tensor"
)

const (
	// chunkRows is the largest number of rows that go through the layers together. Their
	// number is part of the definition of every result: the sum over a chunk is rounded
	// before it is added to the batch's.
	chunkRows = 32

	// A network whose weights take no more than cacheFloats (1 MB) has fewer rows, but
	// cacheRows, where its chunk would take more: it then stays in the second-level
	// cache. With more weights it pays to use them for many rows.
	cacheFloats = 1 << 18
	cacheRows   = 8

	// chunkFloats (256 MB) bounds the memory of any chunk, keptFloats (64 MB) that of the
	// gradients that are kept for each record.
	chunkFloats = 1 << 26
	keptFloats  = 1 << 24
)

// clipShrink is taken off the clip norm, so that the rounding of a scaled float32
// gradient (2^-24 for each element) and of its norm cannot lead above it.
const clipShrink = 1e-5

// network is a stack of layers with a loss on top.
type network struct {
	stack
	loss    loss
	targets bool    // the loss reads Targets, not Labels
	inputs  bool    // the loss reads neither: the target is the sample itself
	ranks   bool    // the outputs are margins: they stand for no probability
	glm     *GLM    // of a generalized linear model
	softmax bool    // logistic regression of several classes
	largest float64 // above 0: outputs are logarithms of means of counts, which are at most this
	// total adds the losses of a chunk, whose first row is sample lo, to sum; nil: one by
	// one
	total func(sum float64, z tensor.Mat, b *Batch, lo int) float64
}

// stack is layers, where their parameters lie in a vector, and where what they compute
// lies in a workspace. A layer's input is the output of the one before, or of an earlier
// one where a residual block has two branches.
type stack struct {
	layers  []layer
	wires   []wire
	offsets []int // of each layer's parameters
	dim     int
	outputs int
	half    bool // products are in bfloat16: see WithPrecision
	rows    int  // of a chunk
	scratch
}

// scratch is the memory that a stack needs.
type scratch struct {
	perRow, perCall, ints int // float32 for each row, for a call, int32 for each row
	temp, tempRow         int
	doubles               int
}

// wire says where a layer's inputs come from: layers by index, -1 the batch.
type wire struct {
	from int
	// of a join: the layer of its second input. Of a fork: the layer that gets its second
	// output. Else -1
	skip int
}

var (
	_ Model     = (*network)(nil)
	_ GridModel = (*network)(nil)
	_ Plain     = (*network)(nil)
)

// compose checks that each layer's output is its reader's input: a mismatch is a
// programming error.
func compose(l loss, targets bool, layers ...layer) *network {
	n := &network{loss: l, targets: targets}
	n.add(layers, -1)
	n.measure()
	return n
}

// measure adds up what the layers need.
func (n *stack) measure() {
	for i, x := range n.layers {
		s := x.size()
		in := n.layers[0].size().in
		if from := n.wires[i].from; from >= 0 {
			in = n.layers[from].size().out
		}
		if s.in != in {
			panic(fmt.Sprintf("model: layer %d takes %d inputs, layer %d gives %d", i, s.in, n.wires[i].from,
				in))
		}
		n.offsets = append(n.offsets, n.dim)
		n.dim += s.params
		n.outputs = s.out
		n.perRow += 2*s.out + s.scratch // y, dy, scratch
		n.perCall += s.shared
		n.ints += s.index
		n.temp, n.tempRow = max(n.temp, s.temp), max(n.tempRow, s.tempRow)
		n.doubles = max(n.doubles, s.doubles)
	}
	n.perRow += n.layers[0].size().in // a private copy of the chunk's input
	n.rows = n.chooseRows()
}

func (n *stack) chooseRows() int {
	rows, each := chunkRows, n.perRow+n.tempRow
	for n.dim <= cacheFloats && rows > cacheRows && rows*each > cacheFloats {
		rows /= 2
	}
	for rows > 1 && rows*each > chunkFloats {
		rows /= 2
	}
	return rows
}

// add appends layers that begin with the output of layer from; residual blocks as their
// parts: fork, the inner layers, the projection if any, join.
func (n *stack) add(layers []layer, from int) {
	for _, l := range layers {
		if b, ok := l.(residual); ok {
			at := len(n.layers)
			n.put(fork{b.size().in}, from, -1)
			n.add(b.inner, at)
			end, other := len(n.layers)-1, at
			n.wires[at].skip = len(n.layers) // the projection, or the join
			if len(b.project) > 0 {
				n.add(b.project, at)
				other = len(n.layers) - 1
			}
			n.put(join{b.size().out}, end, other)
		} else {
			n.put(l, from, -1)
		}
		from = len(n.layers) - 1
	}
}

func (n *stack) put(l layer, from, skip int) {
	n.layers = append(n.layers, l)
	n.wires = append(n.wires, wire{from, skip})
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
func (n *stack) part(v tensor.Vec, i int) tensor.Vec {
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
	switch {
	case n.inputs:
	case n.targets:
		checkLen("targets", len(b.Targets), b.Len())
	default:
		checkLen("labels", len(b.Labels), b.Len())
	}
	if k := b.rowsOfRecord(); k > chunkRows || b.Len()%k != 0 {
		panic(fmt.Sprintf("model: %d views of each record in %d rows, want at most %d, and whole records", k,
			b.Len(), chunkRows))
	}
	n.checkInput(b.X)
}

func (n *network) checkInput(x tensor.Mat) {
	if x.Rows > 0 {
		checkLen("sample", x.Cols, n.layers[0].size().in)
	}
}

// chunk returns the number of rows of a chunk of records of the given number of rows.
func (n *stack) chunk(views int) int {
	records, kept := max(1, n.rows/views), n.kept(views)
	for records > 1 && records*kept > keptFloats {
		records /= 2
	}
	return records * views
}

// kept returns the elements that are kept for each record.
func (n *stack) kept(views int) (sum int) {
	for _, l := range n.layers {
		if n.keeps(l, views) {
			sum += l.size().params
		}
	}
	return sum
}

// bind lays the scratch of w out for this network. Without gradient, views is 1.
func (n *stack) bind(w *Workspace, theta tensor.Vec, views int, gradient bool) {
	checkLen("parameters", len(theta), n.dim)
	capacity, kept := n.chunk(views), 0
	if gradient {
		kept = n.kept(views) * (capacity/views + 1)
	}
	floats := arena{w.Floats(capacity*(n.perRow+n.tempRow) + n.perCall + n.temp + kept)}
	ints, doubles := w.indexes(capacity*n.ints), w.float64s(n.doubles)
	temp := floats.take(n.temp + capacity*n.tempRow)
	if cap(w.passes) < len(n.layers) {
		w.passes = make([]pass, len(n.layers))
	}
	w.passes = w.passes[:len(n.layers)]
	sixteen := n.halfMemory(w, capacity)
	for i, l := range n.layers {
		s := l.size()
		p := &w.passes[i]
		*p = pass{theta: n.part(theta, i), temp: temp, doubles: doubles, views: views}
		p.y = floats.mat(capacity, s.out)
		p.dy = floats.mat(capacity, s.out)
		p.scratch = floats.mat(capacity, s.scratch)
		p.shared = floats.take(s.shared)
		p.index, ints = ints[:capacity*s.index], ints[capacity*s.index:]
		if gradient && n.keeps(l, views) {
			p.kept = floats.mat(capacity/views+1, s.params) // the last is spare
		}
		if from := n.wires[i].from; gradient && from >= 0 {
			p.dx = w.passes[from].dy
		}
		if k, ok := l.(multiplier); ok && n.half {
			p.half, p.rounded = &w.halves, floats.mat(capacity, s.in)
			p.weights, sixteen = sixteen[:k.halfWeights()], sixteen[k.halfWeights():]
			p.x16, sixteen = mat16(sixteen, capacity, s.in)
			p.dy16, sixteen = mat16(sixteen, capacity, s.out)
		}
		if k, ok := l.(preparer); ok {
			k.prepare(p, gradient)
		}
	}
	w.clean = floats.take(capacity * n.layers[0].size().in)
	if gradient {
		n.branch(w)
	}
}

// branch wires the second outputs of forks and inputs of joins. A fork's own output is
// its input, so that its y is free for the gradient that comes back from a projection.
func (n *stack) branch(w *Workspace) {
	for i, l := range n.layers {
		p, to := &w.passes[i], n.wires[i].skip
		switch l.(type) {
		case fork:
			if _, ok := n.layers[to].(join); ok {
				p.skip = w.passes[to].dy
			} else {
				p.skip = p.y
				w.passes[to].dx = p.y
			}
		case join:
			if _, ok := n.layers[to].(fork); !ok {
				p.second = w.passes[to].dy
			}
		}
	}
}

// keeps says whether the network needs a gradient of each record for layer l.
func (n *stack) keeps(l layer, views int) bool {
	if v, ok := l.(viewed); ok {
		return v.keeps(views)
	}
	_, ok := l.(learned)
	return ok && views > 1
}
