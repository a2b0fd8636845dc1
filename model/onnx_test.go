package model_test

import (
	"math"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// Every model, exported to ONNX and executed by the interpreter of this package's tests, predicts what Predict
// does to 1e-5 of the largest output.
func TestONNX(t *testing.T) {
	for _, k := range tasks {
		t.Run(k.name, func(t *testing.T) {
			m := k.build(t)
			theta, batch := start(m, 5), k.batch(7, 6)
			file, err := model.EncodeONNX(m, theta, "test", "0")
			if err != nil {
				t.Fatal(err)
			}
			want := tensor.NewMat(batch.Len(), m.Outputs())
			m.Predict(want, theta, batch.X, new(model.Workspace))
			p := readProgram(file)
			if p.opset != 21 {
				t.Errorf("operator set %d, want 21", p.opset)
			}
			x := newArray(batch.Len(), batch.X.Cols)
			for i, v := range batch.X.Data {
				x.v[i] = float64(v)
			}
			got := p.run(x)
			if len(got.v) != len(want.Data) {
				t.Fatalf("%d outputs, want %d", len(got.v), len(want.Data))
			}
			top := 1.
			for _, v := range want.Data {
				top = max(top, math.Abs(float64(v)))
			}
			for i, v := range want.Data {
				if math.Abs(got.v[i]-float64(v)) > 1e-5*top {
					t.Fatalf("output %d: %v executed, %v predicted", i, got.v[i], v)
				}
			}
		})
	}
}
