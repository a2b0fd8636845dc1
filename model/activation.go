package model

import (
	"strings"

	"sotto/config"
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
	"relu":       func(y, d, x []float32) { tensor.Rectify(y, d, x, 0) },
	"leaky-relu": leakyReLU(0.01),
	"tanh":       tanh,
	"sigmoid":    sigmoid,
	"mish":       tensor.Mishes,
	"gelu":       gelu,
}

// newActivation returns the named function of width elements.
func newActivation(name string, width int) (activation, error) {
	f, ok := activations[name]
	if !ok {
		return activation{}, config.Bad("activation", name, strings.TrimPrefix(config.OneOf(activations), "one of "))
	}
	return activation{name, width, f}, nil
}

func leakyReLU(slope float32) func(y, d, x []float32) {
	return func(y, d, x []float32) { tensor.Rectify(y, d, x, slope) }
}

func tanh(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		t := tensor.Tanh(v)
		y[i], d[i] = t, 1-float32(t*t)
	}
}

func sigmoid(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		s := tensor.Sigmoid(v)
		y[i], d[i] = s, s*(1-s)
	}
}

func gelu(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i, v := range x {
		y[i], d[i] = tensor.GELU(v)
	}
}

func (a activation) size() size { return size{in: a.width, out: a.width, scratch: a.width} }

func (a activation) describe() LayerInfo { return LayerInfo{Name: a.name, Positions: a.width} }

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
		tensor.Mul(p.dx.Row(s), p.dy.Row(s), p.scratch.Row(s))
	}
}

// activationLayer decodes an activation without parameters.
func activationLayer(name string) func(b *builder, decode func(any) error) error {
	return func(b *builder, decode func(any) error) error {
		b.activation(name, activations[name])
		return decode(&struct{}{})
	}
}

func (b *builder) activation(name string, f func(y, d, x []float32)) {
	b.layers = append(b.layers, activation{name, b.at.size(), f})
}

// LeakyReLUParams are the parameters of layer "leaky-relu".
type LeakyReLUParams struct {
	Slope float64 `json:"slope"` // below 0; default .01
}

func leakyReLULayer(b *builder, decode func(any) error) error {
	p := LeakyReLUParams{Slope: 0.01}
	if err := decode(&p); err != nil {
		return err
	}
	if !(p.Slope >= 0 && p.Slope <= 1) {
		return config.Bad("slope", p.Slope, "0 to 1")
	}
	b.activation("leaky-relu", leakyReLU(float32(p.Slope)))
	return nil
}
