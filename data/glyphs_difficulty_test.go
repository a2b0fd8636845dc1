//go:build !race

// Training takes seconds, and a minute under the race detector, where one goroutine has
// nothing to show.

package data_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"sotto/data"
	"sotto/model"
	"sotto/tensor"
)

// The task is learnable and not trivial: a small network reaches 93 to 97 %, a linear
// model and the nearest neighbor stay clearly below. The seed is fixed, so the test does
// not flicker.
func TestGlyphsDifficulty(t *testing.T) {
	s := load(t, "glyphs", "", "")
	mlp, linear := accuracy(t, s, 64, 14), accuracy(t, s, 0, 4)
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

// nearestAccuracy compares |y|^2 - 2 x.y, which lacks of |x-y|^2 what all y share.
func nearestAccuracy(s *data.Split, n int) float64 {
	products := tensor.NewMat(n, s.Train.Len())
	tensor.MulNT(products, s.Test.X.Slice(0, n), s.Train.X, false)
	square := make([]float32, s.Train.Len())
	for j := range square {
		square[j] = float32(tensor.SumSquares(s.Train.X.Row(j)))
	}
	right := 0
	for i := range n {
		best, label := float32(math.Inf(1)), int32(-1)
		for j, xy := range products.Row(i) {
			if d := square[j] - 2*xy; d < best {
				best, label = d, s.Train.Labels[j]
			}
		}
		if label == s.Test.Labels[i] {
			right++
		}
	}
	return float64(right) / float64(n)
}

// accuracy trains a ReLU network with one hidden layer (none for hidden = 0) by SGD on
// cross-entropy, in batches of 8: single records teach it no more, in eight times the
// time.
func accuracy(t *testing.T, s *data.Split, hidden, epochs int) float64 {
	const size = 8
	kind, step := "logistic", .003
	if hidden > 0 {
		kind, step = "mlp", .01
	}
	image := model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}
	m, err := model.New(kind, image, func(p any) error {
		if mlp, ok := p.(*model.MLPParams); ok {
			mlp.Hidden, mlp.Activation = []int{hidden}, "relu"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	theta, sum := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
	m.Init(theta, r)
	batch := &model.Batch{X: tensor.NewMat(size, 784), Labels: make([]int32, size)}
	var w model.Workspace
	for epoch := range epochs {
		if 3*epoch > 2*epochs {
			step *= .6
		}
		order := r.Perm(s.Train.Len())
		for at := 0; at+size <= len(order); at += size {
			for i, j := range order[at : at+size] {
				copy(batch.X.Row(i), s.Train.X.Row(j))
				batch.Labels[i] = s.Train.Labels[j]
			}
			sum.Zero()
			m.(model.Plain).GradientSum(sum, theta, batch, &w)
			theta.AddScaled(-step, sum)
		}
	}
	test := &model.Batch{X: s.Test.X, Labels: s.Test.Labels}
	return model.Evaluate(m, theta, test, &w).Accuracy()
}
