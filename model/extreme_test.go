package model_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/internal/long"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// extreme draws a number of any size that float32 has, or none.
func extreme(r *rand.Rand, wild int) float32 {
	switch k := r.IntN(100); {
	case k >= wild:
		return float32(r.NormFloat64())
	case k == 0:
		return float32(math.NaN())
	case k == 1:
		return float32(math.Inf(1))
	case k < 5:
		return 0
	}
	x := float32(math.Exp2(r.Float64()*277-149) * (1 - 2*float64(r.IntN(2))))
	return x
}

// Whatever the numbers of a record and of the model are, subnormal, huge or none, what a
// record adds is finite and no longer than the clip.
func TestExtremeRecordsAreClipped(t *testing.T) {
	r, trials := rand.New(rand.NewPCG(7, 8)), 200
	if long.Tests {
		trials = 10_000
	}
	for _, k := range slices.Concat(tasks, layerTasks) {
		m := k.build(t)
		half, err := model.WithPrecision(m, "bf16")
		if err != nil {
			t.Fatal(err)
		}
		theta, d := start(m, 1), m.Dim()
		sum, grid := make(tensor.Vec, d), make([]int64, d)
		var w model.Workspace
		for trial := range trials {
			views := 1 + 2*(trial%2)
			batch := k.batch(3*views, uint64(trial))
			batch.Views = views
			wild := []int{2, 10, 60, 100}[trial%4]
			for i := range batch.X.Rows {
				for c := range batch.X.Row(i) {
					batch.X.Row(i)[c] = extreme(r, wild)
				}
			}
			at := slices.Clone(theta)
			if trial%3 == 0 {
				for i := range at {
					if r.IntN(8) == 0 {
						at[i] = extreme(r, 98)
						if at[i]-at[i] != 0 {
							at[i] = math.MaxFloat32 // a query's point is finite
						}
					}
				}
			}
			clip := []float64{1e-30, 1e-6, .1, 1, 1e6, 1e20}[r.IntN(6)]
			one := modeltest.Take(batch, rowsFrom(views*(trial%3), views)...)
			one.Views = views
			sum.Zero()
			if trial%5 == 0 {
				half.ClippedGradientSum(sum, at, one, clip, &w)
			} else {
				m.ClippedGradientSum(sum, at, one, clip, &w)
			}
			if norm := tensor.SumSquares(sum); !(math.Sqrt(norm) <= clip*(1+1e-9)) {
				t.Fatalf("%s, trial %d, %d views: a record adds %g clips of %g", k.name, trial, views,
					math.Sqrt(norm)/clip, clip)
			}
			clear(grid)
			m.(model.GridModel).ClippedGradientGrid(grid, at, one, clip, clip*0x1p-20, &w)
			square := 0.
			for _, v := range grid {
				square += float64(v) * float64(v)
			}
			if math.Sqrt(square) > 1<<20 {
				t.Fatalf("%s, trial %d, %d views, clip %g: %g steps", k.name, trial, views, clip,
					math.Sqrt(square))
			}
		}
	}
}

func rowsFrom(lo, n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = lo + i
	}
	return rows
}
