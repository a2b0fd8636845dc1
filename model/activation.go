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
	curve
}

// curve is an elementwise function: f sets y to the value and d to the derivative at x.
// Without f it is x above 0 and slope*x below, whose derivative at 0 is slope; x itself
// tells it. NaN passes through all of them.
type curve struct {
	f     func(y, d, x []float32)
	slope float32
}

// activations are the elementwise functions by name.
var activations = map[string]curve{
	"relu":       {},
	"leaky-relu": {slope: 0.01},
	"tanh":       {f: tensor.Tanhs},
	"sigmoid":    {f: tensor.Sigmoids},
	"mish":       {f: tensor.Mishes},
	"gelu":       {f: tensor.GELUs},
}

// newActivation returns the named function of width elements.
func newActivation(name string, width int) (activation, error) {
	f, ok := activations[name]
	if !ok {
		return activation{}, config.Bad("activation", name,
			strings.TrimPrefix(config.OneOf(activations), "one of "))
	}
	return activation{name, width, f}, nil
}

func (a activation) size() size {
	s := size{in: a.width, out: a.width, scratch: a.width}
	if a.f == nil {
		s.scratch = 0
	}
	return s
}

func (a activation) describe() LayerInfo { return LayerInfo{Name: a.name, Positions: a.width} }

func (a activation) forward(p *pass) {
	for s := range p.x.Rows {
		if a.f == nil {
			tensor.Rectify(p.y.Row(s), p.x.Row(s), a.slope)
		} else {
			a.f(p.y.Row(s), p.scratch.Row(s), p.x.Row(s))
		}
	}
}

func (a activation) backward(p *pass, _ []float64) {
	if p.dx.Data == nil {
		return
	}
	for s := range p.dx.Rows {
		if a.f == nil {
			tensor.RectifyGradient(p.dx.Row(s), p.dy.Row(s), p.x.Row(s), a.slope)
		} else {
			tensor.Mul(p.dx.Row(s), p.dy.Row(s), p.scratch.Row(s))
		}
	}
}

// activationLayer decodes an activation without parameters.
func activationLayer(name string) func(b *builder, decode func(any) error) error {
	return func(b *builder, decode func(any) error) error {
		b.activation(name, activations[name])
		return decode(&struct{}{})
	}
}

func (b *builder) activation(name string, f curve) {
	b.layers = append(b.layers, activation{name, b.at.size(), f})
}

// LeakyReLUParams are the parameters of layer "leaky-relu".
type LeakyReLUParams struct {
	Slope float64 `json:"slope"` // of what is below 0, 0 to 1; default .01
}

func leakyReLULayer(b *builder, decode func(any) error) error {
	p := LeakyReLUParams{Slope: 0.01}
	if err := decode(&p); err != nil {
		return err
	}
	if !(p.Slope >= 0 && p.Slope <= 1) {
		return config.Bad("slope", p.Slope, "0 to 1")
	}
	b.activation("leaky-relu", curve{slope: float32(p.Slope)})
	return nil
}
