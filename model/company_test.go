package model_test

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// What a record adds does not depend on its company: in integers, far finer than float32
// at the clip, a batch has exactly the sum of what its records have alone, at every place
// of a chunk.
func TestRecordsDoNotDependOnTheirCompany(t *testing.T) {
	const records, clip = 75, .1
	for _, k := range slices.Concat(tasks, layerTasks, []task{mlp64, convnet}) {
		for _, views := range []int{1, 3} {
			m, batch := k.build(t), k.batch(records*views, 5)
			grid, ok := m.(model.GridModel)
			if !ok {
				continue
			}
			batch.Views = views
			theta, d := start(m, 1), m.Dim()
			all, sum := make([]int64, d), make([]int64, d)
			var w model.Workspace
			grid.ClippedGradientGrid(all, theta, batch, clip, clip*0x1p-50, &w)
			for r := range records {
				grid.ClippedGradientGrid(sum, theta, rowsOf(batch, views, r, r+1), clip, clip*0x1p-50, &w)
			}
			for i := range all {
				if all[i] != sum[i] {
					t.Errorf("%s, %d views: parameter %d has %d, its records alone %d", k.name, views, i,
						all[i], sum[i])
					break
				}
			}
		}
	}
}

// Beside records that are not finite, which add nothing, a record adds the bits that it
// adds alone, at every place of a chunk, its clipping factor included.
func TestRecordsAddTheirOwnBits(t *testing.T) {
	const records, clip = 35, .1
	for _, k := range slices.Concat(tasks, layerTasks, []task{mlp64, convnet}) {
		m, batch := k.build(t), k.batch(records, 5)
		theta, d := start(m, 1), m.Dim()
		var w model.Workspace
		for r := range records {
			alone, beside := make(tensor.Vec, d), make(tensor.Vec, d)
			m.ClippedGradientSum(alone, theta, rowsOf(batch, 1, r, r+1), clip, &w)
			others := rowsOf(batch, 1, 0, records)
			for s := range records {
				if s != r {
					others.X.Row(s)[0] = float32(math.NaN())
				}
			}
			if m.ClippedGradientSum(beside, theta, others, clip, &w).NonFinite != records-1 {
				continue // of a model that does not look at the first feature
			}
			for i := range alone {
				if alone[i] != beside[i] {
					t.Fatalf("%s, record %d: parameter %d has %v, alone %v", k.name, r, i, beside[i],
						alone[i])
				}
			}
		}
	}
}
