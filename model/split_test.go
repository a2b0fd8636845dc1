package model_test

import (
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// TestSplitHasTheSameBits: any number of goroutines gives the bits of one, with records
// of several rows too.
func TestSplitHasTheSameBits(t *testing.T) {
	small := slices.DeleteFunc(slices.Clone(layerTasks), func(k task) bool { return k.kind == "cnn" })
	for _, k := range append(small, convnet, mlp64) {
		m, batch := k.build(t), k.batch(168, 3)
		batch.X.Data[0] = float32(1e30)
		theta := start(m, 1)
		for _, views := range []int{1, 3} {
			batch.Views = views
			want := make(tensor.Vec, m.Dim())
			stats := m.ClippedGradientSum(want, theta, batch, 0.1, new(model.Workspace))
			for _, n := range []int{1, 2, 7} {
				var w model.Workspace
				w.Split(n)
				got := make(tensor.Vec, m.Dim())
				if again := m.ClippedGradientSum(got, theta, batch, 0.1, &w); again != stats ||
					!slices.Equal(got, want) {
					t.Errorf("%s, %d views, %d goroutines: %+v, want %+v, or other bits", k.name, views, n,
						again, stats)
				}
			}
		}
	}
}
