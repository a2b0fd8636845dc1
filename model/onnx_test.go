package model_test

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// unevenPools are networks that pool to regions of unequal size.
var unevenPools = map[string]bool{"uneven": true}

// Every model, exported to ONNX and executed by the interpreter of this package's tests,
// predicts what Predict does to 1e-5 of the largest output.
func TestONNX(t *testing.T) {
	whole := []task{
		{name: "cnn", kind: "cnn", shape: model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}},
		{name: "dpresnet9", kind: "dpresnet9",
			shape: model.Shape{Height: 16, Width: 16, Channels: 3, Classes: 10}},
		{name: "resnet18", kind: "resnet18",
			shape: model.Shape{Height: 8, Width: 8, Channels: 3, Classes: 10}},
		listed("uneven", image(7, 7, 1, 2), spec{"kind": "adaptive-avgpool", "size": 4},
			spec{"kind": "linear", "units": 2}),
	}
	for _, k := range slices.Concat([]task{mlp64, convnet}, tasks, layerTasks, whole) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			m := k.build(t)
			theta, batch := k.start(m, 5), k.batch(2, 6)
			if unevenPools[k.name] {
				if _, err := model.EncodeONNX(m, theta, "test", "0"); err == nil {
					t.Error("regions of unequal size were exported")
				}
				return
			}
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
