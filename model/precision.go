package model

import (
	"fmt"

	"sotto/config"
	"sotto/tensor"
)

// WithPrecision returns m with the products of its linear and conv2d layers in the given precision: "float32" (m itself) or
// "bf16", for networks that were built here. In bf16 the operands of a product, weights, inputs and output gradients, are rounded
// to bfloat16, and sums are float32 (see [tensor.MulNN16]). Norms are those of the rounded operands, and what a clipped row is scaled
// to is rounded toward zero, so that the bound of ClippedGradientSum holds as it does in float32. Everything else,
// the fused convolution of "convnet" included, stays float32.
func WithPrecision(m Model, precision string) (Model, error) {
	if precision != "float32" && precision != "bf16" {
		return nil, config.Bad("precision", precision, "one of bf16, float32")
	}
	n, ok := m.(*network)
	if precision == "float32" {
		return m, nil
	}
	if !ok {
		return nil, config.Bad("precision", precision, fmt.Sprintf("float32 for a model of type %T", m))
	}
	half := *n
	half.half = true
	for i, l := range n.layers {
		if _, ok := l.(multiplier); ok {
			half.perRow += n.layers[i].size().in // the rounded input
		}
	}
	half.rows = half.chooseRows()
	return &half, nil
}

// multiplier is a layer that multiplies its input and output gradient with matrices.
type multiplier interface {
	// halfWeights is the number of weights that the layer keeps in bfloat16 for a whole call.
	halfWeights() int
}

func (linear) halfWeights() int { return 0 }

// halfWeights returns memory for the weights of all layers.
func (n *network) halfWeights(w *Workspace) []uint16 {
	if !n.half {
		return nil
	}
	total := 0
	for _, l := range n.layers {
		if k, ok := l.(multiplier); ok {
			total += k.halfWeights()
		}
	}
	return grow(&w.halves.weights, total)
}

// halves is the memory of two operands in bfloat16, of one row, and of weights that are kept for a call.
type halves struct{ a, b, row, weights []uint16 }

func grow(s *[]uint16, n int) []uint16 {
	if len(*s) < n {
		*s = make([]uint16, n)
	}
	return (*s)[:n]
}

// narrow rounds m into memory that it takes from to. Operands that are rounded already stay as they are.
func narrow(to *[]uint16, m tensor.Mat) tensor.MatBF16 {
	h := tensor.MatBF16{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols, Data: grow(to, m.Rows*m.Cols)}
	if m.Stride == m.Cols {
		tensor.RoundBF16(h.Data, m.Data[:len(h.Data)])
		return h
	}
	for i := range m.Rows {
		tensor.RoundBF16(h.Row(i), m.Row(i))
	}
	return h
}

func (p *pass) mulNN(dst, a, b tensor.Mat, add bool) {
	if p.half == nil {
		tensor.MulNN(dst, a, b, add)
		return
	}
	tensor.MulNN16(dst, narrow(&p.half.a, a), narrow(&p.half.b, b), add)
}

func (p *pass) mulTN(dst, a, b tensor.Mat, add bool) {
	if p.half == nil {
		tensor.MulTN(dst, a, b, add)
		return
	}
	tensor.MulTN16(dst, narrow(&p.half.a, a), narrow(&p.half.b, b), add)
}

func (p *pass) mulNT(dst, a, b tensor.Mat, add bool) {
	if p.half == nil {
		tensor.MulNT(dst, a, b, add)
		return
	}
	tensor.MulNT16(dst, narrow(&p.half.a, a), narrow(&p.half.b, b), add)
}

// scaleToward is tensor.ScaleToward of an operand: in bf16 the result is one, rounded toward zero once more.
func (p *pass) scaleToward(x []float32, f float64) {
	tensor.ScaleToward(x, f)
	if p.half != nil {
		row := grow(&p.half.row, len(x))
		tensor.TruncateBF16(row, x, 1)
		tensor.WidenBF16(x, row)
	}
}

// round makes the rows of src operands, in dst, which may be src.
func (p *pass) round(dst, src tensor.Mat) {
	row := grow(&p.half.row, src.Cols)
	for s := range src.Rows {
		tensor.RoundBF16(row, src.Row(s))
		tensor.WidenBF16(dst.Row(s), row)
	}
}
