package model

import (
	"fmt"

	"sotto/model/onnx"
	"sotto/tensor"
)

// EncodeONNX returns the model with parameters theta as an ONNX file (operator set 21). Its input "x" is one
// flattened sample a row, as in Batch.X (images: height, width, channel); its output "y" is one row of logits or
// one predicted value, as Predict writes it. producer and version name the program. Models that
// were not built here are refused.
func EncodeONNX(m Model, theta tensor.Vec, producer, version string) ([]byte, error) {
	n, ok := m.(*network)
	if !ok {
		return nil, fmt.Errorf("model: a model of type %T has no ONNX form", m)
	}
	checkLen("parameters", len(theta), n.dim)
	e := &exporter{x: "x"}
	e.graph.Name = "sotto"
	e.graph.Input = onnx.Value{Name: "x", Dims: []int{n.layers[0].size().in}}
	for i, l := range n.layers {
		l.export(e, n.part(theta, i))
	}
	e.flat()
	e.graph.Nodes[len(e.graph.Nodes)-1].Output = "y"
	e.graph.Output = onnx.Value{Name: "y", Dims: []int{n.outputs}}
	return e.graph.Encode(producer, version), nil
}

// exporter builds an ONNX graph layer by layer. ONNX keeps images as channel, height, width: they stay in that
// order between layers that work on images.
type exporter struct {
	graph onnx.Graph
	x     string // the current value
	image bool   // it is N x channels x height x width, not one flat row a sample
}

// add appends an operator on the current value.
func (e *exporter) add(op string, constants []string, attributes ...onnx.Attribute) {
	e.x = e.graph.Add(op, e.x, constants, attributes...)
}

// flat brings the current value to one row a sample, in the order height, width, channel.
func (e *exporter) flat() {
	if !e.image {
		return
	}
	e.add("Transpose", nil, onnx.Attribute{Name: "perm", Value: []int{0, 2, 3, 1}})
	e.add("Reshape", []string{e.graph.Shape(0, -1)})
	e.image = false
}

// planes brings the current value to channels of height x width.
func (e *exporter) planes(height, width, channels int) {
	if e.image {
		return
	}
	e.add("Reshape", []string{e.graph.Shape(0, int64(height), int64(width), int64(channels))})
	e.add("Transpose", nil, onnx.Attribute{Name: "perm", Value: []int{0, 3, 1, 2}})
	e.image = true
}

// filters returns a filter bank of rows x cols x channels x count, at index(row, col, channel)*count in w, in the
// order that ONNX expects: count x channels x rows x cols.
func (e *exporter) filters(w []float32, rows, cols, channels, count int, index func(r, c, ch int) int) string {
	v := make([]float32, 0, rows*cols*channels*count)
	for f := range count {
		for ch := range channels {
			for r := range rows {
				for c := range cols {
					v = append(v, w[index(r, c, ch)*count+f])
				}
			}
		}
	}
	return e.graph.Floats("filters", v, count, channels, rows, cols)
}

// activate appends an activation by its name.
func (e *exporter) activate(name string) {
	switch name {
	case "relu":
		e.add("Relu", nil)
	case "tanh":
		e.add("Tanh", nil)
	case "mish": // x tanh(ln(1+e^x)): older runtimes have no Mish
		x := e.x
		e.add("Softplus", nil)
		e.add("Tanh", nil)
		e.add("Mul", []string{x})
	default:
		panic("model: activation " + name + " has no ONNX form")
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

func (a activation) export(e *exporter, _ tensor.Vec) { e.activate(a.name) }

func (c convPool) export(e *exporter, theta tensor.Vec) {
	e.planes(c.height, c.width, c.channels)
	w := e.filters(theta, filterSide, filterSide, c.channels, filters, func(r, col, ch int) int {
		return (ch*filterSide+r)*filterSide + col
	})
	e.add("Conv", []string{w, e.graph.Floats("bias", theta[c.taps()*filters:], filters)},
		onnx.Attribute{Name: "kernel_shape", Value: []int{filterSide, filterSide}})
	e.activate("mish")
	e.add("MaxPool", nil, onnx.Attribute{Name: "kernel_shape", Value: []int{2, 2}}, onnx.Attribute{Name: "strides", Value: []int{2, 2}})
}
