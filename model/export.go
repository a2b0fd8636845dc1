package model

import (
	"fmt"
	"math"

	"sotto/model/onnx"
	"sotto/tensor"
)

// EncodeONNX returns the model with parameters theta as an ONNX file (operator set 21).
// Its input "x" is one flattened sample a row, as in Batch.X (images: height, width,
// channel); its output "y" is one row of logits or one predicted value, as Predict writes
// it. producer and version name the program. Models that were not built here, and
// adaptive pooling to regions of unequal size, for which ONNX has no operator, are
// refused. It panics when theta has not Dim elements.
func EncodeONNX(m Model, theta tensor.Vec, producer, version string) ([]byte, error) {
	g := &onnx.Graph{Name: "sotto"}
	if _, err := AppendONNX(g, m, theta, "x"); err != nil {
		return nil, err
	}
	g.Inputs = []onnx.Value{{Name: "x", Dims: []int{m.(*network).layers[0].size().in}}}
	g.Yield(onnx.Value{Name: "y", Dims: []int{m.Outputs()}})
	return g.Encode(producer, version), nil
}

// AppendONNX appends the model with parameters theta to a graph and returns the name of
// its outputs. x names its input, rows of as many elements as a sample has. What
// EncodeONNX refuses is refused.
func AppendONNX(g *onnx.Graph, m Model, theta tensor.Vec, x string) (string, error) {
	n, ok := m.(*network)
	if !ok {
		return "", fmt.Errorf("model: a model of type %T has no ONNX form", m)
	}
	checkLen("parameters", len(theta), n.dim)
	e := &exporter{graph: g}
	outputs := make([]exported, len(n.layers))
	at := func(i int) exported {
		if i < 0 {
			return exported{name: x}
		}
		return outputs[i]
	}
	for i, l := range n.layers {
		e.x = at(n.wires[i].from)
		if _, ok := l.(join); ok {
			e.join(at(n.wires[i].skip))
		} else {
			l.export(e, n.part(theta, i))
		}
		outputs[i] = e.x
	}
	e.flat()
	if n.largest > 0 {
		e.add("Clip", []string{g.Floats("least", []float32{leastScore}),
			g.Floats("most", []float32{float32(math.Log(n.largest))})})
		e.add("Exp", nil)
	}
	return e.x.name, e.err
}

// exported is a value of the graph: one flat row a sample in the order height, width,
// channel, or an image of channels x height x width, the order of ONNX, in which it stays
// between layers that work on images.
type exported struct {
	name          string
	image         bool
	height, width int
}

// exporter builds an ONNX graph layer by layer.
type exporter struct {
	graph *onnx.Graph
	x     exported // the current value
	err   error
}

// add appends an operator on the current value.
func (e *exporter) add(op string, constants []string, attributes ...onnx.Attribute) {
	e.x.name = e.graph.Add(op, e.x.name, constants, attributes...)
}

// flat brings the current value to one row a sample.
func (e *exporter) flat() {
	if !e.x.image {
		return
	}
	e.add("Transpose", nil, onnx.Attribute{Name: "perm", Value: []int{0, 2, 3, 1}})
	e.add("Reshape", []string{e.graph.Shape(0, -1)})
	e.x.image = false
}

// planes brings the current value to channels of height x width.
func (e *exporter) planes(height, width, channels int) {
	if e.x.image && e.x.height == height && e.x.width == width {
		return
	}
	e.flat()
	e.add("Reshape", []string{e.graph.Shape(0, int64(height), int64(width), int64(channels))})
	e.add("Transpose", nil, onnx.Attribute{Name: "perm", Value: []int{0, 3, 1, 2}})
	e.x.image, e.x.height, e.x.width = true, height, width
}

// join adds another value to the current one.
func (e *exporter) join(other exported) {
	if e.x.image != other.image || e.x.height != other.height || e.x.width != other.width {
		e.flat()
		x := e.x
		e.x = other
		e.flat()
		e.x, other = x, e.x
	}
	e.add("Add", []string{other.name})
}

// filters adds a filter bank, see filterBank.
func (e *exporter) filters(w []float32, side, channels, count int, index func(r, c, ch int) int) string {
	return e.graph.Floats("filters", filterBank(w, side, channels, count, index), count, channels, side, side)
}

// squares are attributes of a square sliding window.
func squares(kernel, stride, padding int) []onnx.Attribute {
	return []onnx.Attribute{
		{Name: "kernel_shape", Value: []int{kernel, kernel}},
		{Name: "strides", Value: []int{stride, stride}},
		{Name: "pads", Value: []int{padding, padding, padding, padding}},
	}
}

// mish is x tanh(ln(1+e^x)) in three operators: older runtimes have no Mish.
func (e *exporter) mish() {
	x := e.x.name
	e.add("Softplus", nil)
	e.add("Tanh", nil)
	e.add("Mul", []string{x})
}

func (a activation) export(e *exporter, _ tensor.Vec) {
	switch a.name {
	case "relu":
		e.add("Relu", nil)
	case "leaky-relu":
		e.add("LeakyRelu", nil, onnx.Attribute{Name: "alpha", Value: a.slope})
	case "tanh":
		e.add("Tanh", nil)
	case "sigmoid":
		e.add("Sigmoid", nil)
	case "gelu":
		e.add("Gelu", nil, onnx.Attribute{Name: "approximate", Value: "tanh"})
	case "mish":
		e.mish()
	default:
		panic("model: activation " + a.name + " has no ONNX form")
	}
}

func (l linear) export(e *exporter, theta tensor.Vec) {
	e.flat()
	constants := []string{e.graph.Floats("weights", theta[:l.in*l.out], l.in, l.out)}
	if l.bias {
		constants = append(constants, e.graph.Floats("bias", theta[l.in*l.out:], l.out))
	}
	e.add("Gemm", constants)
}

func (c *conv2d) export(e *exporter, theta tensor.Vec) {
	w := theta[:c.weights()]
	if c.standard {
		s := c.size()
		w = c.standardize(&pass{theta: theta, shared: make([]float32, s.shared),
			doubles: make([]float64, s.doubles)})
	}
	k, channels := c.window.Kernel, c.window.Channels
	constants := []string{e.filters(w, k, channels, c.filters, c.place)}
	if c.bias {
		constants = append(constants, e.graph.Floats("bias", theta[c.weights():], c.filters))
	}
	e.planes(c.height(), c.width(), channels)
	e.add("Conv", constants, squares(k, c.window.Stride, c.padding)...)
	e.x.height, e.x.width = c.window.Rows, c.window.Cols
}

func (c convPool) export(e *exporter, theta tensor.Vec) {
	w := e.filters(theta, filterSide, c.channels, filters, c.place)
	bias := e.graph.Floats("bias", theta[c.taps()*filters:], filters)
	e.planes(c.height, c.width, c.channels)
	e.add("Conv", []string{w, bias}, squares(filterSide, 1, 0)...)
	e.mish()
	e.add("MaxPool", nil, squares(2, 2, 0)...)
	e.x.height, e.x.width = c.poolRows, c.poolCols
}

func (l groupNorm) export(e *exporter, theta tensor.Vec) {
	constants := []string{e.graph.Floats("scale", theta[:l.channels], l.channels),
		e.graph.Floats("shift", theta[l.channels:], l.channels)}
	epsilon := onnx.Attribute{Name: "epsilon", Value: float32(normEpsilon)}
	if l.units > 1 || l.name == "layernorm" {
		e.flat()
		e.add("Reshape", []string{e.graph.Shape(0, int64(l.units), int64(l.channels))})
		e.add("LayerNormalization", constants, onnx.Attribute{Name: "axis", Value: -1}, epsilon)
		e.add("Reshape", []string{e.graph.Shape(0, -1)})
		return
	}
	if !e.x.image {
		e.planes(l.positions, 1, l.channels)
	}
	e.add("GroupNormalization", constants, onnx.Attribute{Name: "num_groups", Value: l.groups}, epsilon)
}

func (l maxPool) export(e *exporter, _ tensor.Vec) {
	w := l.window
	e.planes(w.Height, w.Width, w.Channels)
	e.add("MaxPool", nil, squares(w.Kernel, w.Stride, 0)...)
	e.x.height, e.x.width = w.Rows, w.Cols
}

func (l averagePool) export(e *exporter, _ tensor.Vec) { l.cells.export(e, "AveragePool") }

func (l regionMaxPool) export(e *exporter, _ tensor.Vec) { l.cells.export(e, "MaxPool") }

// export needs regions of one size at one distance.
func (c *cells) export(e *exporter, op string) {
	rows, rowStep, ok := even(c.tops, c.bottoms, c.height)
	cols, colStep, okay := even(c.lefts, c.rights, c.width)
	if !ok || !okay {
		e.err = fmt.Errorf("model: pooling %dx%d to %dx%d regions of unequal size has no ONNX operator",
			c.height, c.width, len(c.tops), len(c.lefts))
		return
	}
	e.planes(c.height, c.width, c.channels)
	e.add(op, nil, onnx.Attribute{Name: "kernel_shape", Value: []int{rows, cols}},
		onnx.Attribute{Name: "strides", Value: []int{rowStep, colStep}})
	e.x.height, e.x.width = len(c.tops), len(c.lefts)
}

// even returns the common size and distance of intervals in a side; one interval is as
// far from the next as the side.
func even(from, to []int, side int) (size, step int, ok bool) {
	size, step = to[0]-from[0], side
	if len(from) > 1 {
		step = from[1] - from[0]
	}
	for i := range from {
		if to[i]-from[i] != size || from[i] != i*step {
			return 0, 0, false
		}
	}
	return size, step, true
}

func (fork) export(*exporter, tensor.Vec) {} // both readers take its input

func (join) export(*exporter, tensor.Vec) { panic("model: a sum has two inputs") }

func (residual) export(*exporter, tensor.Vec) { panic("model: a residual block runs as its parts") }
