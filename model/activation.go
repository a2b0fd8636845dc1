package model

import "sotto/tensor"

// activation is an elementwise function. Its scratch holds the derivative at every input.
type activation struct {
	width int
	f     func(x float32) (value, derivative float32)
}

// activations are the elementwise functions by name. NaN passes through all of them.
var activations = map[string]func(x float32) (value, derivative float32){
	"relu": relu,
	"tanh": tanh,
	"mish": tensor.Mish,
}

// relu has derivative 0 at 0.
func relu(x float32) (value, derivative float32) {
	if x <= 0 {
		return 0, 0
	}
	return x, 1
}

func tanh(x float32) (value, derivative float32) {
	t := tensor.Tanh(x)
	return t, 1 - float32(t*t)
}

func (a activation) size() size { return size{in: a.width, out: a.width, scratch: a.width} }

func (a activation) forward(p *pass) {
	for s := range p.x.Rows {
		y, d := p.y.Row(s), p.scratch.Row(s)
		for i, v := range p.x.Row(s) {
			y[i], d[i] = a.f(v)
		}
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
