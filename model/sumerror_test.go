package model_test

import (
	"math"
	"slices"
	"testing"

	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// The sum of a batch is as near to the sum of its records' gradients, each computed alone
// and added in float64, as SumError says: with its own error, and that of each record.
func TestSumsAreWithinTheirError(t *testing.T) {
	const records, each, clip = 75, 40, .1
	for _, k := range slices.Concat(tasks, layerTasks, []task{mlp64, convnet}) {
		for _, views := range []int{1, 3} {
			m, batch := k.build(t), k.batch(records*views, 5)
			batch.Views = views
			theta, d := start(m, 1), m.Dim()
			sum, alone, exact := make(tensor.Vec, d), make(tensor.Vec, d), make([]float64, d)
			var w model.Workspace
			for lo := 0; lo < records; lo += each {
				b := rowsOf(batch, views, lo, min(lo+each, records))
				m.ClippedGradientSum(sum, theta, b, clip, &w)
			}
			for r := range records {
				alone.Zero()
				m.ClippedGradientSum(alone, theta, rowsOf(batch, views, r, r+1), clip, &w)
				for i, x := range alone {
					exact[i] += float64(x)
				}
			}
			square := 0.
			for i, x := range exact {
				square += (float64(sum[i]) - x) * (float64(sum[i]) - x)
			}
			bound := model.SumError(m, records, each, views, clip) +
				records*model.SumError(m, 1, 1, views, clip)
			if off := math.Sqrt(square) / clip; !(off <= bound) {
				t.Errorf("%s, %d views: off by %.3g clips, bound %.3g", k.name, views, off, bound)
			}
		}
	}
}

// rowsOf copies records lo to hi.
func rowsOf(b *model.Batch, views, lo, hi int) *model.Batch {
	var rows []int
	for r := lo * views; r < hi*views; r++ {
		rows = append(rows, r)
	}
	part := modeltest.Take(b, rows...)
	part.Views = views
	return part
}

// SumError grows with the records, is 0 for none and refuses what it has no proof for.
func TestSumErrorIsOrderly(t *testing.T) {
	m := mlp64.build(t)
	if e := model.SumError(m, 0, 320, 1, 1); e != 0 {
		t.Errorf("no records: %g", e)
	}
	last := 0.
	for n := 1; n <= 1<<24; n *= 2 {
		e := model.SumError(m, n, 320, 1, 1)
		// Every sum of n numbers may lose as much as its last addition.
		if least := float64(max(0, n-32)) * 0x1p-24; !(e > last) || !(e > least) {
			t.Errorf("%d records: %g after %g, at least %g", n, e, last, least)
		}
		last = e
	}
	half, err := model.WithPrecision(m, "bf16")
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]float64{
		"bf16":                      model.SumError(half, 1, 320, 1, 1),
		"no clip":                   model.SumError(m, 1, 320, 1, math.Inf(1)),
		"a clip among subnormals":   model.SumError(m, 1, 320, 1, 1e-31),
		"sums that may overflow":    model.SumError(m, 1, 320, 1, 1e21),
		"a model from elsewhere":    model.SumError(struct{ model.Model }{m}, 1, 320, 1, 1),
		"calls of no records":       model.SumError(m, 1, 0, 1, 1),
		"calls of fewer than none":  model.SumError(m, 1, -1, 1, 1),
		"records of no rows":        model.SumError(m, 1, 320, 0, 1),
		"neither":                   model.SumError(m, 0, 0, 0, 1),
		"rows of which none fits":   model.SumError(m, 1, 320, math.MaxInt, 1),
		"more records than counted": model.SumError(m, 1<<41, 320, 1, 1),
	} {
		if !math.IsInf(e, 1) {
			t.Errorf("%s: %g, want no bound", name, e)
		}
	}
}
