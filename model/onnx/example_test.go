package onnx_test

import (
	"fmt"

	"sotto/model/onnx"
)

func ExampleGraph() {
	g := onnx.Graph{Name: "double", Inputs: []onnx.Value{{Name: "x", Dims: []int{2}}}}
	out := g.Add("Mul", "x", []string{g.Floats("factor", []float32{2}, 1)})
	g.Outputs = []onnx.Value{{Name: out, Dims: []int{2}}}
	fmt.Println(out, len(g.Encode("example", "1")) > 0)
	// Output: Mul_0 true
}
