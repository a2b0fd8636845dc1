package tensor_test

import (
	"fmt"

	"sotto/tensor"
)

// The gradient of a linear layer over a batch is a product aᵀ*b: a holds the layer's
// inputs, b the gradients of its outputs, one row for each sample.
func ExampleMulTN() {
	a := tensor.Mat{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	b := tensor.Mat{Rows: 2, Cols: 1, Stride: 1, Data: []float32{1, -1}}
	gradient := tensor.NewMat(3, 1)
	tensor.MulTN(gradient, a, b, false)
	fmt.Println(gradient.Data)
	// Output: [-3 -3 -3]
}
