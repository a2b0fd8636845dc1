package model

import (
	"sotto/config"
	"sotto/tensor"
)

// linear is y = x*W + b with W of shape in x out, stored row by row, then b.
type linear struct {
	in, out int
	bias    bool
}

var (
	_ viewed = linear{}
	_ outer  = linear{}
)

func (l linear) size() size {
	n := l.in * l.out
	if l.bias {
		n += l.out
	}
	c := l.sum()
	of := c.size()
	return size{
		in:      l.in,
		out:     l.out,
		params:  n,
		scratch: of.scratch,
		doubles: of.doubles,
		temp:    max(of.temp, l.out),
	}
}

func (l linear) init(dst tensor.Vec, r Source) { uniform(dst, l.in, r) }

func (l linear) weights(v tensor.Vec) tensor.Mat {
	return tensor.Mat{Rows: l.in, Cols: l.out, Stride: l.out, Data: v[:l.in*l.out]}
}

func (l linear) forward(p *pass) {
	p.mulNN(p.y, p.x, l.weights(p.theta), false)
	if !l.bias {
		return
	}
	b := p.theta[l.in*l.out:]
	for s := range p.y.Rows {
		if l.out == 1 { // without two calls
			p.y.Data[s*p.y.Stride] += b[0]
			continue
		}
		p.y.Row(s).AddScaled(1, b)
	}
}

// sum is the layer as a convolution over one position: for records of several rows, which
// share the weights as positions do.
func (l linear) sum() conv2d {
	return conv2d{geometry: geometry{
		window:  tensor.Window{Height: 1, Width: 1, Channels: l.in, Kernel: 1, Stride: 1, Rows: 1, Cols: 1},
		filters: l.out, bias: l.bias,
	}}
}

func (l linear) keeps(views int) bool {
	c := l.sum()
	return views > 1 && c.keeps(views)
}

// backward uses that the gradient of W is the outer product of x and dy: its squared
// norm, that of b included, is (|x|^2+1)|dy|^2 (Goodfellow 2015, "Efficient Per-Example
// Gradient Computations").
func (l linear) backward(p *pass, norms []float64) {
	switch {
	case p.plain:
	case p.views > 1:
		c := l.sum()
		c.addNorms(p, norms)
	default:
		l.addSquares(norms, p)
	}
	if p.dx.Data != nil {
		p.mulNT(p.dx, p.dy, l.weights(p.theta), false)
	}
}

func (l linear) addSquares(norms []float64, p *pass) {
	extra := 0.0
	if l.bias {
		extra = 1
	}
	var in, out [chunkRows]float64
	tensor.RowSquares(in[:p.x.Rows], p.x)
	tensor.RowSquares(out[:p.dy.Rows], p.dy)
	for s := range norms {
		norms[s] += float64((in[s] + extra) * out[s])
	}
}

func (l linear) addOuter(dst []int64, p *pass, s int, k float64, small bool) {
	dy := p.dy.Row(s)
	for i, v := range p.x.Row(s) {
		if v != 0 {
			addTruncated(dst[i*l.out:][:l.out], dy, k*float64(v), small)
		}
	}
	if l.bias {
		addTruncated(dst[l.in*l.out:], dy, k, small)
	}
}

func (l linear) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	if p.views > 1 && !p.plain {
		c := l.sum()
		c.accumulate(dst, p, factors)
		return
	}
	switch {
	case p.plain:
	case p.half == nil:
		tensor.ScaleRowsToward(p.dy, factors)
	default:
		for s, f := range factors {
			if f != 1 {
				p.scaleRow(s, f)
			}
		}
	}
	p.mulTN(l.weights(dst), p.x, p.dy, true)
	if !l.bias {
		return
	}
	// not the outputs: they are the next layer's input, which it has yet to multiply with
	sum := tensor.Vec(p.temp[:l.out])
	sum.Zero()
	for s := range p.dy.Rows {
		if l.out == 1 { // without two calls
			sum[0] += p.dy.Data[s*p.dy.Stride]
			continue
		}
		sum.AddScaled(1, p.dy.Row(s))
	}
	dst[l.in*l.out:].AddScaled(1, sum)
}

func (l linear) instantiate(dst tensor.Vec, p *pass, r int) {
	if p.views > 1 {
		c := l.sum()
		c.instantiate(dst, p, r)
		return
	}
	dy := p.dy.Row(r)
	for i, v := range p.x.Row(r) {
		row := dst[i*l.out:][:len(dy)]
		for j, g := range dy {
			row[j] = v * g
		}
	}
	if l.bias {
		copy(dst[l.in*l.out:], dy)
	}
}

// LinearLayerParams are the parameters of layer "linear".
type LinearLayerParams struct {
	Units int  `json:"units"`
	Bias  bool `json:"bias"` // default true
	// at each position over its channels, with the same weights; else over the whole
	// input
	Position bool `json:"position"`
}

func linearLayer(b *builder, decode func(any) error) error {
	p := LinearLayerParams{Bias: true}
	if err := decode(&p); err != nil {
		return err
	}
	return b.linear(p)
}

func (b *builder) linear(p LinearLayerParams) error {
	in, positions := b.at.size(), 1
	if p.Position {
		in, positions = b.at.channels, b.at.height*b.at.width
	}
	if p.Units < 1 || !fits(in, p.Units) || !fits(positions, p.Units) {
		return config.Bad("units", p.Units, "1 or more, with at most 16777216 weights and outputs")
	}
	if p.Position && positions > 1 {
		return b.conv("linear", ConvParams{Filters: p.Units, Kernel: 1, Stride: 1, Bias: p.Bias}, false)
	}
	b.layers = append(b.layers, linear{in, p.Units, p.Bias})
	b.at = extent{1, 1, p.Units}
	return nil
}

func flattenLayer(b *builder, decode func(any) error) error {
	b.at = extent{1, 1, b.at.size()}
	return decode(&struct{}{})
}
