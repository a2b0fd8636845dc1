package model_test

import (
	"errors"
	"math"
	"testing"

	"sotto/config"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

func bf16(t testing.TB, k task) model.Model {
	t.Helper()
	m, err := model.WithPrecision(k.build(t), "bf16")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var halfTasks = append([]task{
	{name: "mlp-relu", kind: "mlp", shape: image(3, 4, 1, 3),
		params: model.MLPParams{Hidden: []int{40}, Activation: "relu"}},
}, layerTasks...)

// TestBF16: the gradient in bfloat16 is that of float32 to a few roundings of 2^-8: in
// direction 1 - cos < 2^-8 for whole batches, 2^-6 through the 20 layers of a residual
// network, where roundings also move maxima elsewhere; predictions within 3 % of the
// largest.
func TestBF16(t *testing.T) {
	deep := task{name: "dpresnet9", kind: "dpresnet9", shape: image(8, 8, 3, 4)}
	for _, k := range append(halfTasks, deep) {
		apart := 1. / 256
		if k.name == deep.name {
			apart = 1. / 64
		}
		half, full := bf16(t, k), k.build(t)
		if half.Dim() != full.Dim() {
			t.Fatalf("%s: %d parameters, want %d", k.name, half.Dim(), full.Dim())
		}
		theta, batch := k.start(full, 3), k.batch(35, 4)
		var w model.Workspace
		got, want := make(tensor.Vec, full.Dim()), make(tensor.Vec, full.Dim())
		half.ClippedGradientSum(got, theta, batch, math.Inf(1), &w)
		full.ClippedGradientSum(want, theta, batch, math.Inf(1), &w)
		if cos := got.Dot(want) / (got.Norm() * want.Norm()); cos < 1-apart {
			t.Errorf("%s: cosine %v between gradients in bf16 and float32", k.name, cos)
		}
		same := true
		for j := range got {
			same = same && got[j] == want[j]
		}
		if same {
			t.Errorf("%s: the gradient is that of float32, bit for bit: nothing was rounded", k.name)
		}
		y, z := tensor.NewMat(35, full.Outputs()), tensor.NewMat(35, full.Outputs())
		half.Predict(y, theta, batch.X, &w)
		full.Predict(z, theta, batch.X, &w)
		top := 0.
		for _, v := range z.Data {
			top = max(top, math.Abs(float64(v)))
		}
		for i, v := range z.Data {
			if math.Abs(float64(y.Data[i]-v)) > .03*top {
				t.Errorf("%s: output %d is %v in bf16, %v in float32", k.name, i, y.Data[i], v)
			}
		}
	}
}

// TestBF16Bound: one record adds at most the clip norm, whatever its numbers, by the grid
// exactly and by the sum as stored.
func TestBF16Bound(t *testing.T) {
	for _, k := range halfTasks {
		m := bf16(t, k)
		theta, batch := k.start(m, 5), k.batch(4, 6)
		var w model.Workspace
		for i := range batch.Len() {
			one := modeltest.Take(batch, i)
			for _, scale := range []float32{1, 1e-6, 1e4} {
				for j := range one.X.Row(0) {
					one.X.Row(0)[j] = batch.X.Row(i)[j] * scale
				}
				free := make(tensor.Vec, m.Dim())
				m.ClippedGradientSum(free, theta, one, math.Inf(1), &w)
				for _, share := range []float64{.9999, .5, 1e-3, 1e-6} {
					clip := share * free.Norm()
					if clip == 0 {
						continue
					}
					got := make(tensor.Vec, m.Dim())
					m.ClippedGradientSum(got, theta, one, clip, &w)
					if norm := got.Norm(); !(norm <= clip) {
						t.Errorf("%s, record %d times %g: norm %v, clip %v", k.name, i, scale, norm, clip)
					}
					if cos := got.Dot(free) / (got.Norm() * free.Norm()); cos < .999 {
						t.Errorf("%s, record %d times %g: clipping turned the gradient, cosine %v", k.name, i,
							scale, cos)
					}
					grid := make([]int64, m.Dim())
					m.(model.GridModel).ClippedGradientGrid(grid, theta, one, clip, clip/(1<<20), &w)
					var squares float64 // at most 2^40, and below 2^53 if the bound nearly holds
					for _, v := range grid {
						squares += float64(v * v)
					}
					if squares > 1<<40 {
						t.Errorf("%s, record %d times %g: squared norm %g on the grid, want at most 2^40",
							k.name, i, scale, squares)
					}
				}
			}
		}
	}
}

// TestBF16IsSumOfItsRecords: clipped sums against one-by-one clipping in the same
// precision.
func TestBF16IsSumOfItsRecords(t *testing.T) {
	for _, k := range halfTasks {
		m := bf16(t, k)
		theta, batch := k.start(m, 7), k.batch(37, 8)
		var w model.Workspace
		clip := 0.
		for i := range batch.Len() {
			g := make(tensor.Vec, m.Dim())
			m.ClippedGradientSum(g, theta, modeltest.Take(batch, i), math.Inf(1), &w)
			clip += g.Norm() / float64(batch.Len())
		}
		want, got := make(tensor.Vec, m.Dim()), make(tensor.Vec, m.Dim())
		for i := range batch.Len() {
			m.ClippedGradientSum(want, theta, modeltest.Take(batch, i), clip, &w)
		}
		if s := m.ClippedGradientSum(got, theta, batch, clip, &w); s.Clipped == 0 ||
			s.Clipped == batch.Len() {
			t.Fatalf("%s: %d of %d records clipped", k.name, s.Clipped, batch.Len())
		}
		for j, v := range got {
			if math.Abs(float64(v-want[j])) > 1e-4*clip*math.Sqrt(float64(batch.Len())) {
				t.Fatalf("%s: parameter %d: %v, one by one %v", k.name, j, v, want[j])
			}
		}
		if n := testing.AllocsPerRun(3, func() {
			m.ClippedGradientSum(got, theta, batch, clip, &w)
		}); n != 0 {
			t.Errorf("%s: %v allocations a call", k.name, n)
		}
	}
}

func TestBadPrecision(t *testing.T) {
	var bad *config.Error
	if _, err := model.WithPrecision(mlp64.build(t), "fp16"); !errors.As(err, &bad) ||
		bad.Key != "precision" {
		t.Errorf("fp16: %v", err)
	}
	if _, err := model.WithPrecision(wrapped{mlp64.build(t)}, "bf16"); !errors.As(err, &bad) ||
		bad.Key != "precision" {
		t.Errorf("a foreign model: %v", err)
	}
	m := mlp64.build(t)
	if same, err := model.WithPrecision(m, "float32"); err != nil || same != m {
		t.Errorf("float32: %v", err)
	}
}
