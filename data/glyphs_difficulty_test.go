//go:build !race

// Training takes seconds, and a minute under the race detector, where one goroutine has
// nothing to show.

package data_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/data"
	"sotto/tensor"
)

// The task is learnable and not trivial: a small network reaches 93 to 97 %, a linear
// model and the nearest neighbor stay clearly below. The seed is fixed, so the test does
// not flicker.
func TestGlyphsDifficulty(t *testing.T) {
	s := load(t, "glyphs", "", "")
	mlp, linear := accuracy(s, 64, 14), accuracy(s, 0, 4)
	nearest := nearestAccuracy(s, 300)
	t.Logf("network %.4f, linear %.4f, nearest neighbor %.4f", mlp, linear, nearest)
	if mlp < .93 || mlp > .97 {
		t.Errorf("a network of 64 units reaches %.4f, want .93 to .97", mlp)
	}
	if linear > mlp-.03 || linear < .7 || nearest > mlp-.02 || nearest < .7 {
		t.Errorf("linear %.4f and nearest neighbor %.4f, want .7 up to a few points below %.4f", linear,
			nearest, mlp)
	}
}

func nearestAccuracy(s *data.Split, n int) float64 {
	right := 0
	for i := range n {
		best, label := math.Inf(1), int32(-1)
		x := s.Test.X.Row(i)
		for j := range s.Train.Len() {
			var d float32
			for k, v := range s.Train.X.Row(j) {
				e := v - x[k]
				d += e * e
			}
			if float64(d) < best {
				best, label = float64(d), s.Train.Labels[j]
			}
		}
		if label == s.Test.Labels[i] {
			right++
		}
	}
	return float64(right) / float64(n)
}

// layer is a dense layer; the last column is the bias.
type layer struct {
	w       tensor.Mat
	in, out tensor.Vec
}

func (l *layer) forward(x tensor.Vec) tensor.Vec {
	l.in = x
	for j := range l.out {
		w := l.w.Row(j)
		s := w[len(x)]
		for k, v := range x {
			s += w[k] * v
		}
		l.out[j] = s
	}
	return l.out
}

// backward takes the gradient of the output, returns that of the input and steps.
func (l *layer) backward(g tensor.Vec, step float32) tensor.Vec {
	back := make(tensor.Vec, len(l.in))
	for j, gj := range g {
		if gj == 0 {
			continue
		}
		w := l.w.Row(j)
		for k, v := range l.in {
			back[k] += gj * w[k]
			w[k] -= step * gj * v
		}
		w[len(l.in)] -= step * gj
	}
	return back
}

func newLayer(in, out int, r *rand.Rand) *layer {
	l := &layer{w: tensor.NewMat(out, in+1), out: make(tensor.Vec, out)}
	for k := range l.w.Data {
		l.w.Data[k] = float32((2*r.Float64() - 1) / math.Sqrt(float64(in)))
	}
	return l
}

// accuracy trains a ReLU network with one hidden layer (none for hidden = 0) by plain SGD
// on cross-entropy.
func accuracy(s *data.Split, hidden, epochs int) float64 {
	r := rand.New(rand.NewPCG(3, 4))
	var first *layer
	width, step := 784, float32(.003)
	if hidden > 0 {
		first = newLayer(width, hidden, r)
		width, step = hidden, .01
	}
	last := newLayer(width, 10, r)
	predict := func(x tensor.Vec) tensor.Vec {
		if first != nil {
			x = first.forward(x)
			for k, v := range x {
				x[k] = max(v, 0)
			}
		}
		return last.forward(x)
	}
	for epoch := range epochs {
		if 3*epoch > 2*epochs {
			step *= .6
		}
		for _, i := range r.Perm(s.Train.Len()) {
			g := softmax(predict(s.Train.X.Row(i)))
			g[s.Train.Labels[i]]--
			back := last.backward(g, step)
			if first == nil {
				continue
			}
			for k, v := range first.out {
				if v <= 0 {
					back[k] = 0
				}
			}
			first.backward(back, step)
		}
	}
	right := 0
	for i := range s.Test.Len() {
		out := predict(s.Test.X.Row(i))
		if slices.Index(out, slices.Max(out)) == int(s.Test.Labels[i]) {
			right++
		}
	}
	return float64(right) / float64(s.Test.Len())
}

func softmax(z tensor.Vec) tensor.Vec {
	most := slices.Max(z)
	p := make(tensor.Vec, len(z))
	var sum float32
	for k, v := range z {
		p[k] = float32(math.Exp(float64(v - most)))
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}
