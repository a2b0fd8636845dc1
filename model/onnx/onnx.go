// Package onnx writes neural networks in the ONNX exchange format: a graph of operators
// with its constants, as the protocol-buffer message ModelProto of the ONNX specification
// (IR version 10, operator set 21).
package onnx

import (
	"cmp"
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
	Prefix  string // of all names that Add and the constants make
	Nodes   []Node
	Tensors []Tensor // constants
	Inputs  []Value
	Outputs []Value
	// Metadata are texts by key, in this order.
	Metadata [][2]string
}

// Kind is the type of a value's elements, numbered as in the specification.
type Kind int

// Kinds of elements. The zero value is Float.
const (
	Float Kind = 1 // float32
	Int64 Kind = 7
	Text  Kind = 8
	Bool  Kind = 9
)

// Value is an input or output of the whole graph. The first dimension is the batch, of
// any length; Dims are the others.
type Value struct {
	Name string
	Dims []int
	Kind Kind
	Doc  string // for people
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

// Tensor is a constant in row-major order: Floats, Texts, or Ints where a shape or an
// axis is meant.
type Tensor struct {
	Name   string
	Dims   []int
	Floats []float32
	Ints   []int64
	Texts  []string
}

// Add appends a node that reads x and then constants, and returns the name of its output.
func (g *Graph) Add(op, x string, constants []string, attributes ...Attribute) string {
	out := fmt.Sprintf("%s%s_%d", g.Prefix, op, len(g.Nodes))
	g.Nodes = append(g.Nodes, Node{op, append([]string{x}, constants...), out, attributes})
	return out
}

// Floats adds a constant of float32 and returns its name. The values are kept, not
// copied.
func (g *Graph) Floats(what string, values []float32, dims ...int) string {
	name := fmt.Sprintf("%s%s_%d", g.Prefix, what, len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Name: name, Dims: dims, Floats: values})
	return name
}

// Strings adds a constant of texts and returns its name.
func (g *Graph) Strings(what string, values []string, dims ...int) string {
	name := fmt.Sprintf("%s%s_%d", g.Prefix, what, len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Name: name, Dims: dims, Texts: values})
	return name
}

// Yield makes the output of the last node, of which there must be one, one of the graph,
// under the given name, which no other value has.
func (g *Graph) Yield(v Value) {
	g.Nodes[len(g.Nodes)-1].Output = v.Name
	g.Outputs = append(g.Outputs, v)
}

// Shape adds a vector of integers as Reshape reads it and returns its name: 0 keeps a
// dimension, -1 is what remains.
func (g *Graph) Shape(values ...int64) string {
	name := fmt.Sprintf("%sshape_%d", g.Prefix, len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Name: name, Dims: []int{len(values)}, Ints: values})
	return name
}

// Numbers of enumerations in the specification.
const (
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
// alone. It panics for an attribute of another type than Attribute names.
func (g *Graph) Encode(producer, version string) []byte {
	var opset, model message
	opset.text(1, "") // the default domain
	opset.integer(2, Opset)
	model.integer(1, irVersion)
	model.text(2, producer)
	model.text(3, version)
	model.bytes(7, g.encode())
	model.bytes(8, opset)
	for _, kv := range g.Metadata {
		var entry message
		entry.text(1, kv[0])
		entry.text(2, kv[1])
		model.bytes(14, entry)
	}
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
	for i := range g.Inputs {
		m.bytes(11, g.Inputs[i].encode())
	}
	for i := range g.Outputs {
		m.bytes(12, g.Outputs[i].encode())
	}
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
	if t.Texts != nil { // which have no raw form
		m.integer(2, int64(Text))
		for _, v := range t.Texts {
			m.text(6, v)
		}
		m.text(8, t.Name)
		return m
	}
	var raw []byte
	if t.Ints != nil {
		m.integer(2, int64(Int64))
		for _, v := range t.Ints {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	} else {
		m.integer(2, int64(Float))
		raw = make([]byte, 0, 4*len(t.Floats))
		for _, v := range t.Floats {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	m.text(8, t.Name)
	m.bytes(9, raw)
	return m
}

func (v *Value) encode() message {
	var batch, shape, tensor, kind, m message
	batch.text(2, "batch")
	shape.bytes(1, batch)
	for _, d := range v.Dims {
		var dim message
		dim.integer(1, int64(d))
		shape.bytes(1, dim)
	}
	tensor.integer(1, int64(cmp.Or(v.Kind, Float)))
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	m.text(1, v.Name)
	m.bytes(2, kind)
	if v.Doc != "" {
		m.text(3, v.Doc)
	}
	return m
}
