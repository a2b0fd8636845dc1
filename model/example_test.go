package model_test

import (
	"fmt"

	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// Eight steps of gradient descent with per-sample clipping on a line through the plane:
// label 1 above x1 + x2 = 0. A private run adds noise to sum before it is used.
func Example() {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 2}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := &model.Batch{
		X:      tensor.Mat{Rows: 4, Cols: 2, Stride: 2, Data: []float32{1, 2, 2, -1, -1, -2, -2, 1}},
		Labels: []int32{1, 1, 0, 0},
	}
	theta, sum := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
	source := modeltest.Source(1)
	m.Init(theta, &source)
	var w model.Workspace
	for range 8 {
		sum.Zero()
		m.ClippedGradientSum(sum, theta, batch, 1, &w)
		theta.AddScaled(-0.5/float64(batch.Len()), sum)
	}
	e := model.Evaluate(m, theta, batch, &w)
	fmt.Printf("%d of %d correct\n", e.Correct, e.Samples)
	// Output: 4 of 4 correct
}
