// Package onnx writes neural networks in the ONNX exchange format: a graph of operators
// with its constants, as the protocol-buffer message ModelProto of the ONNX specification
// (IR version 10, operator set 21).
package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	irVersion = 10 // the first that admits operator set 21
	// Opset is the version of the default operator set that graphs use: the first whose
	// GroupNormalization scales each channel on its own.
	Opset = 21
)

// Graph is a network under construction. Values are named by what produced them. Nodes
// are in the order of execution, as the format demands.
type Graph struct {
	Name    string
	Nodes   []Node
	Tensors []Tensor // constants
	Input   Value
	Output  Value
}

// Value is an input or output of the whole graph, of float32. The first dimension is the
// batch, of any length; Dims are the others.
type Value struct {
	Name string
	Dims []int
}

// Node is one use of an operator of the default domain.
type Node struct {
	Op         string
	Inputs     []string
	Output     string
	Attributes []Attribute
}

// Attribute is a constant setting of a node. Value is an int, a float32, a string or an
// []int.
type Attribute struct {
	Name  string
	Value any
}

// Tensor is a constant in row-major order: Floats, or Ints where a shape or an axis is
// meant.
type Tensor struct {
	Name   string
	Dims   []int
	Floats []float32
	Ints   []int64
}

// Add appends a node that reads x and then constants, and returns the name of its output.
func (g *Graph) Add(op, x string, constants []string, attributes ...Attribute) string {
	out := fmt.Sprintf("%s_%d", op, len(g.Nodes))
	g.Nodes = append(g.Nodes, Node{op, append([]string{x}, constants...), out, attributes})
	return out
}

// Floats adds a constant of float32 and returns its name. The values are kept, not
// copied.
func (g *Graph) Floats(what string, values []float32, dims ...int) string {
	name := fmt.Sprintf("%s_%d", what, len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Name: name, Dims: dims, Floats: values})
	return name
}

// Shape adds a vector of integers as Reshape reads it and returns its name: 0 keeps a
// dimension, -1 is what remains.
func (g *Graph) Shape(values ...int64) string {
	name := fmt.Sprintf("shape_%d", len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Name: name, Dims: []int{len(values)}, Ints: values})
	return name
}

// Numbers of enumerations in the specification.
const (
	floatData = 1
	int64Data = 7

	floatAttribute  = 1
	intAttribute    = 2
	stringAttribute = 3
	intsAttribute   = 7
)

// message is a protocol-buffer message under construction.
type message []byte

func (m *message) integer(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }

// Encode returns the bytes of an .onnx file. They depend on the graph and the producer
// alone.
func (g *Graph) Encode(producer, version string) []byte {
	var opset, model message
	opset.text(1, "") // the default domain
	opset.integer(2, Opset)
	model.integer(1, irVersion)
	model.text(2, producer)
	model.text(3, version)
	model.bytes(7, g.encode())
	model.bytes(8, opset)
	return model
}

func (g *Graph) encode() message {
	var m message
	for i := range g.Nodes {
		m.bytes(1, g.Nodes[i].encode())
	}
	m.text(2, g.Name)
	for i := range g.Tensors {
		m.bytes(5, g.Tensors[i].encode())
	}
	m.bytes(11, g.Input.encode())
	m.bytes(12, g.Output.encode())
	return m
}

func (n *Node) encode() message {
	var m message
	for _, in := range n.Inputs {
		m.text(1, in)
	}
	m.text(2, n.Output)
	m.text(3, n.Output)
	m.text(4, n.Op)
	for _, a := range n.Attributes {
		m.bytes(5, a.encode())
	}
	return m
}

func (a Attribute) encode() message {
	var m message
	m.text(1, a.Name)
	kind := int64(0)
	switch v := a.Value.(type) {
	case float32:
		m = protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(v))
		kind = floatAttribute
	case int:
		m.integer(3, int64(v))
		kind = intAttribute
	case string:
		m.text(4, v)
		kind = stringAttribute
	case []int:
		for _, x := range v {
			m.integer(8, int64(x))
		}
		kind = intsAttribute
	default:
		panic(fmt.Sprintf("onnx: attribute %s of type %T", a.Name, a.Value))
	}
	m.integer(20, kind)
	return m
}

func (t *Tensor) encode() message {
	var m message
	for _, d := range t.Dims {
		m.integer(1, int64(d))
	}
	var raw []byte
	if t.Ints != nil {
		m.integer(2, int64Data)
		for _, v := range t.Ints {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	} else {
		m.integer(2, floatData)
		raw = make([]byte, 0, 4*len(t.Floats))
		for _, v := range t.Floats {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	m.text(8, t.Name)
	m.bytes(9, raw)
	return m
}

func (v Value) encode() message {
	var batch, shape, tensor, kind, m message
	batch.text(2, "batch")
	shape.bytes(1, batch)
	for _, d := range v.Dims {
		var dim message
		dim.integer(1, int64(d))
		shape.bytes(1, dim)
	}
	tensor.integer(1, floatData)
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	m.text(1, v.Name)
	m.bytes(2, kind)
	return m
}
