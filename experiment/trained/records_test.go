package trained_test

import (
	"errors"
	"testing"

	"sotto/config"
	"sotto/experiment/trained"
	"sotto/tensor"
)

// Records that a program has put together panicked where their lists had other lengths.
func TestRecordsOfAProgram(t *testing.T) {
	m := load(t, folder(t, csvRun+"[model]\nname = \"logistic\"\n", "",
		"1x1x2, 2 classes", tensor.Vec{1, 2}), "mean")
	x := tensor.NewMat(2, 2)
	short := tensor.Mat{Rows: 3, Cols: 2, Stride: 2, Data: make([]float32, 2)}
	for name, r := range map[string]*trained.Records{
		"lines": {X: x, Labels: []int32{0, 1}},
		"ids":   {X: x, Lines: []int{1, 2}, IDs: []string{"a"}},
		"short": {X: short, Lines: []int{1, 2, 3}, Labels: []int32{0, 1, 0}},
		"rows":  {X: tensor.Mat{Rows: -1, Cols: 2, Stride: 2}, Labels: []int32{}},
	} {
		var bad *config.Error
		if _, err := m.Table(r); !errors.As(err, &bad) {
			t.Errorf("%s: Table says %v", name, err)
		}
		if _, err := m.Evaluate(r); name != "lines" && !errors.As(err, &bad) {
			t.Errorf("%s: Evaluate says %v", name, err)
		}
	}
}
