package model

import (
	"sotto/tensor"
)

// newMean builds "mean": as many parameters as a sample has elements, θ, with the loss ‖θ
// - x‖²/2, which the mean of all samples minimises. Labels and targets are not read;
// Predict gives θ for every sample.
func newMean(decode func(params any) error, s Shape) (Model, error) {
	if err := decode(&struct{}{}); err != nil {
		return nil, err
	}
	n := compose(halfSquare, false, location{s.Features()})
	n.inputs = true
	return n, nil
}

// halfSquare is ‖z - x‖²/2.
func halfSquare(z []float32, b *Batch, sample int, gradient []float32) float64 {
	var sum float64
	for j, x := range b.X.Row(sample) {
		r := z[j] - x
		if gradient != nil {
			gradient[j] = r
			continue
		}
		sum += float64(float64(r) * float64(r))
	}
	return sum / 2
}

// location is y = θ, whatever x is.
type location struct{ width int }

var _ learned = location{}

func (l location) size() size {
	return size{in: l.width, out: l.width, params: l.width, temp: l.width}
}

func (l location) describe() LayerInfo {
	return LayerInfo{Name: "location", Positions: 1, Norm: "closed form"}
}

func (l location) export(e *exporter, theta tensor.Vec) {
	e.flat()
	e.add("Mul", []string{e.graph.Floats("zero", []float32{0}, 1)})
	e.add("Add", []string{e.graph.Floats("location", theta, l.width)})
}

func (l location) init(dst tensor.Vec, r Source) { uniform(dst, l.width, r) }

func (l location) forward(p *pass) {
	for s := range p.y.Rows {
		copy(p.y.Row(s), p.theta)
	}
}

func (l location) backward(p *pass, norms []float64) {
	if !p.plain {
		var squares [chunkRows]float64
		tensor.RowSquares(squares[:p.dy.Rows], p.dy)
		for s := range norms {
			norms[s] += squares[s]
		}
	}
	if p.dx.Data != nil {
		for s := range p.dx.Rows {
			p.dx.Row(s).Zero()
		}
	}
}

func (l location) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	if !p.plain {
		tensor.ScaleRowsToward(p.dy, factors)
	}
	sum := tensor.Vec(p.temp[:l.width])
	sum.Zero()
	for s := range p.dy.Rows {
		sum.AddScaled(1, p.dy.Row(s))
	}
	dst.AddScaled(1, sum)
}

func (l location) instantiate(dst tensor.Vec, p *pass, r int) { copy(dst, p.dy.Row(r)) }
