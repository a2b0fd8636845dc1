package model

import "sotto/tensor"

// linear is y = x*W + b with W of shape in x out, stored row by row, then b.
type linear struct {
	in, out int
	bias    bool
}

var _ learned = linear{}

func (l linear) size() size {
	n := l.in * l.out
	if l.bias {
		n += l.out
	}
	return size{in: l.in, out: l.out, params: n}
}

func (l linear) init(dst tensor.Vec, r Source) { uniform(dst, l.in, r) }

func (l linear) weights(v tensor.Vec) tensor.Mat {
	return tensor.Mat{Rows: l.in, Cols: l.out, Stride: l.out, Data: v[:l.in*l.out]}
}

func (l linear) forward(p *pass) {
	tensor.MulNN(p.y, p.x, l.weights(p.theta), false)
	if !l.bias {
		return
	}
	b := p.theta[l.in*l.out:]
	for s := range p.y.Rows {
		y := p.y.Row(s)
		for j, v := range b {
			y[j] += v
		}
	}
}

// backward uses that the gradient of W is the outer product of x and dy: its squared norm, that of b
// included, is (|x|^2+1)|dy|^2 (Goodfellow 2015, "Efficient Per-Example Gradient Computations").
func (l linear) backward(p *pass, norms []float64) {
	extra := 0.0
	if l.bias {
		extra = 1
	}
	for s := range norms {
		if p.plain {
			break
		}
		norms[s] += float64((tensor.SumSquares(p.x.Row(s)) + extra) * tensor.SumSquares(p.dy.Row(s)))
	}
	if p.dx.Data != nil {
		tensor.MulNT(p.dx, p.dy, l.weights(p.theta), false)
	}
}

func (l linear) accumulate(dst tensor.Vec, p *pass, factors []float64) {
	for s, f := range factors {
		if f != 1 {
			tensor.ScaleToward(p.dy.Row(s), f)
		}
	}
	tensor.MulTN(l.weights(dst), p.x, p.dy, true)
	if !l.bias {
		return
	}
	b := dst[l.in*l.out:]
	for j := range b {
		var sum float32
		for s := range p.dy.Rows {
			sum += p.dy.Data[s*p.dy.Stride+j]
		}
		b[j] += sum
	}
}

func (l linear) instantiate(dst tensor.Vec, p *pass, s int) {
	dy := p.dy.Row(s)
	for i, v := range p.x.Row(s) {
		row := dst[i*l.out:][:len(dy)]
		for j, g := range dy {
			row[j] = v * g
		}
	}
	if l.bias {
		copy(dst[l.in*l.out:], dy)
	}
}
