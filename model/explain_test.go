package model_test

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// TestExplainConvNet: the paper's network has 97,072 multiply-adds in its forward pass
// (spec: 58,800 + 37,632 + 640).
func TestExplainConvNet(t *testing.T) {
	m := convnet.build(t)
	var work float64
	params := 0
	for _, l := range model.Explain(m) {
		work += l.MACs
		params += l.Params
	}
	if work != 97072 || params != m.Dim() {
		t.Errorf("%v multiply-adds and %d parameters, want 97072 and %d", work, params, m.Dim())
	}
	if model.Explain(wrapped{m}) != nil {
		t.Error("a model that was not built here is explained")
	}
}

// TestGradientSum: without clipping, the step of non-private training is the same sum.
func TestGradientSum(t *testing.T) {
	for _, k := range slices.Concat(tasks, layerTasks) {
		m, batch := k.build(t), k.batch(72, 3)
		theta := k.start(m, 1)
		for _, views := range []int{1, 3} {
			batch.Views = views
			var w model.Workspace
			plain, want := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
			stats := m.(model.Plain).GradientSum(plain, theta, batch, &w)
			if wanted := m.ClippedGradientSum(want, theta, batch, math.Inf(1), &w); stats != wanted {
				t.Errorf("%s, %d views: %+v, want %+v", k.name, views, stats, wanted)
			}
			for j, v := range plain {
				if math.Abs(float64(v-want[j])) > 1e-5*(1+want.Norm()) {
					t.Fatalf("%s, %d views: parameter %d: %v, want %v", k.name, views, j, v, want[j])
				}
			}
		}
	}
}
