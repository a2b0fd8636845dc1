package model

import (
	"fmt"

	"sotto/config"
	"sotto/tensor"
)

// WithPrecision returns m with the products of its linear and conv2d layers in the given
// precision: "float32" (m itself) or "bf16", for networks that were built here. In bf16
// the operands of a product, weights, inputs and output gradients, are rounded to
// bfloat16, and sums are float32 (see [tensor.MulNN16]). Norms are those of the rounded
// operands, and what a clipped row is scaled to is rounded toward zero, so that the bound
// of ClippedGradientSum holds as it does in float32. Everything else, the fused
// convolution of "convnet" included, stays float32.
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
	// halfWeights is the number of weights that the layer keeps in bfloat16 for a whole
	// call.
	halfWeights() int
}

func (linear) halfWeights() int { return 0 }

// halfMemory returns memory for the weights of all layers, and for the inputs and output
// gradients of a chunk.
func (n *stack) halfMemory(w *Workspace, rows int) []uint16 {
	if !n.half {
		return nil
	}
	total := 0
	for _, l := range n.layers {
		if k, ok := l.(multiplier); ok {
			s := l.size()
			total += k.halfWeights() + rows*(s.in+s.out)
		}
	}
	return grow(&w.halves.kept, total)
}

// mat16 takes a matrix off memory.
func mat16(memory []uint16, rows, cols int) (m tensor.MatBF16, rest []uint16) {
	return tensor.MatBF16{Rows: rows, Cols: cols, Stride: cols, Data: memory[:rows*cols]}, memory[rows*cols:]
}

// halves is the memory of two operands in bfloat16, of padded images, and of what is kept
// for a call.
type halves struct{ a, b, images, kept []uint16 }

// operand is a matrix, with the same numbers in bfloat16 where products are.
type operand struct {
	full tensor.Mat
	half tensor.MatBF16
}

func grow(s *[]uint16, n int) []uint16 {
	if len(*s) < n {
		*s = make([]uint16, n)
	}
	return (*s)[:n]
}

// narrow rounds m into memory that it takes from to. Numbers that are rounded already
// stay as they are.
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

// scaleRow multiplies row s of dy by f <= 1, rounded toward zero; where it is an operand
// in bfloat16, toward zero once more.
func (p *pass) scaleRow(s int, f float64) {
	row := p.dy.Row(s)
	tensor.ScaleToward(row, f)
	if p.half != nil {
		half := p.dy16.Row(s)
		tensor.TruncateBF16(half, row, 1)
		tensor.WidenBF16(row, half)
	}
}

// scaleNear is scaleRow, but to nearest in bfloat16: for sums over positions, whose norm
// has room for it.
func (p *pass) scaleNear(s int, f float64) {
	row := p.dy.Row(s)
	tensor.ScaleToward(row, f)
	if p.half != nil {
		half := p.dy16.Row(s)
		tensor.RoundBF16(half, row)
		tensor.WidenBF16(row, half)
	}
}

// round rounds m to nearest, into half and as float32 into full, which may be m.
func round(full tensor.Mat, half tensor.MatBF16, m tensor.Mat) {
	for s := range m.Rows {
		tensor.RoundBF16(half.Row(s), m.Row(s))
		tensor.WidenBF16(full.Row(s), half.Row(s))
	}
}
