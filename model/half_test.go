package model_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// Output gradients that nearly cancel over the positions of a convolution: what rounding
// to bfloat16 takes from each does not cancel. What a record adds stays within the clip
// all the same.
func TestHalfPrecisionSumsThatCancelAreClipped(t *testing.T) {
	const channels, filters, positions = 40, 40, 9
	k := listed("", image(3, 3, channels, 2), spec{"kind": "conv2d", "filters": filters, "kernel": 1,
		"bias": false})
	full := k.build(t)
	m, err := model.WithPrecision(full, "bf16")
	if err != nil {
		t.Fatal(err)
	}
	r, worst := rand.New(rand.NewPCG(1, 9)), 0.
	var w model.Workspace
	for range 3000 {
		theta, sum := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
		head := theta[channels*filters:] // (positions filters) x 2, then two biases
		size := math.Exp2(r.Float64())
		other := size * (1 + (r.Float64()-.5)/64)
		for p := range positions - 1 {
			v := size
			if p%2 == 1 {
				v = -other
			}
			for f := range filters {
				head[(p*filters+f)*2] = float32(v)
			}
		}
		batch := k.batch(1, 1)
		for i := range batch.X.Row(0) {
			batch.X.Row(0)[i] = 1
		}
		clip := math.Exp2(-20 * r.Float64())
		m.ClippedGradientSum(sum, theta, batch, clip, &w)
		worst = max(worst, sum.Norm()/clip)
	}
	if worst > 1 {
		t.Errorf("a record adds %.4g clips", worst)
	}
}
