package model

import (
	"math"

	"sotto/tensor"
)

// activation is an elementwise function. Its scratch holds the derivative at every input.
type activation struct {
	name  string
	width int
	f     func(y, d, x []float32)
}

// activations are the elementwise functions by name: they set y to the value and d to the derivative at x. NaN passes
// through all of them.
var activations = map[string]func(y, d, x []float32){
	"relu": relu,
	"tanh": tanh,
	"mish": tensor.Mishes,
}

// relu has derivative 0 at 0. It has no branches: those on signs are hardly predictable.
func relu(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		v = max(v, 0)
		b := int32(math.Float32bits(v))
		y[i] = v
		d[i] = math.Float32frombits(uint32((b|-b)>>31) & math.Float32bits(1))
	}
}

func tanh(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		t := tensor.Tanh(v)
		y[i], d[i] = t, 1-float32(t*t)
	}
}

func (a activation) size() size { return size{in: a.width, out: a.width, scratch: a.width} }

func (a activation) forward(p *pass) {
	for s := range p.x.Rows {
		a.f(p.y.Row(s), p.scratch.Row(s), p.x.Row(s))
	}
}

func (a activation) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		dx, d := p.dx.Row(s), p.scratch.Row(s)
		for i, g := range p.dy.Row(s) {
			dx[i] = g * d[i]
		}
	}
}
