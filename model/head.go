package model

import (
	"fmt"

	"sotto/config"
	"sotto/tensor"
)

// Body is the first part of a model, up to its head: a fixed function of one sample once
// its parameters are public.
type Body struct{ n *network }

// SplitHead cuts m in two before the last so many layers that have parameters: what lies
// before them is the body, which turns a sample into features, and they, with all that
// follows, are the head, a model of those features. The parameters of m are those of the
// body followed by those of the head, and the head's outputs on the body's features are
// the outputs of m, bit for bit. layers is at least 1. The cut cannot lie inside a
// residual block, and one layer with parameters has to stay in the body.
func SplitHead(m Model, layers int) (*Body, Model, error) {
	n, ok := m.(*network)
	if !ok {
		return nil, nil, config.Bad("train_layers", layers, fmt.Sprintf("0 for a model of type %T", m))
	}
	if n.inputs {
		return nil, nil, config.Bad("train_layers", layers,
			"0 for an autoencoder, whose target is the sample, not its features")
	}
	if n.half {
		return nil, nil, config.Bad("train_layers", layers, "0 with precision bf16")
	}
	var at []int
	for i, l := range n.layers {
		if _, ok := l.(learned); ok {
			at = append(at, i)
		}
	}
	if len(at) < 2 {
		return nil, nil, config.Bad("train_layers", layers,
			fmt.Sprintf("no value: the model has %d layers with parameters, one stays in the body", len(at)))
	}
	if layers < 1 || layers >= len(at) {
		return nil, nil, config.Bad("train_layers", layers,
			fmt.Sprintf("1 to %d, or no value for all: the model has %d layers with parameters", len(at)-1,
				len(at)))
	}
	cut := at[len(at)-layers]
	for i := range n.wires {
		if w := n.wires[i]; i >= cut && (w.from < cut-1 || w.skip >= 0 && w.skip < cut) ||
			i < cut && w.skip >= cut {
			return nil, nil, config.Bad("train_layers", layers,
				"a number of layers that does not cut through a residual block")
		}
	}
	return &Body{n.between(0, cut)}, n.between(cut, len(n.layers)), nil
}

// between returns layers lo to hi as a network of their own.
func (n *network) between(lo, hi int) *network {
	c := &network{stack: stack{layers: n.layers[lo:hi:hi]}, loss: n.loss, targets: n.targets,
		ranks: n.ranks}
	for _, w := range n.wires[lo:hi] {
		w.from = max(w.from-lo, -1)
		if w.skip >= 0 {
			w.skip -= lo
		}
		c.wires = append(c.wires, w)
	}
	c.measure()
	return c
}

// Dim is the number of the body's parameters.
func (b *Body) Dim() int { return b.n.dim }

// Features is the length of a row that Apply writes.
func (b *Body) Features() int { return b.n.outputs }

// Apply writes the features of each row of x to the same row of dst, which has Features
// columns.
func (b *Body) Apply(dst tensor.Mat, theta tensor.Vec, x tensor.Mat, w *Workspace) {
	b.n.Predict(dst, theta, x, w)
}
