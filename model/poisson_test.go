package model_test

import (
	"math"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

func counting(t *testing.T, largest float64) model.Model {
	t.Helper()
	m, err := model.New("poisson", model.Shape{Height: 1, Width: 1, Channels: 1}, func(p any) error {
		p.(*model.PoissonParams).Largest = largest
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The loss is half the deviance, from the logarithm of the probabilities of counts, and
// beyond the logarithm of the largest count the tangent there. Predictions are means.
func TestPoisson(t *testing.T) {
	const largest = 6
	m := counting(t, largest)
	half := func(mean float64, y int) float64 { // ln P(y; y) - ln P(y; mean)
		logP := func(mean float64) float64 {
			p := -mean
			for k := 1; k <= y; k++ {
				p += math.Log(mean) - math.Log(float64(k))
			}
			return p
		}
		if y == 0 {
			return -logP(mean)
		}
		return logP(float64(y)) - logP(mean)
	}
	var w model.Workspace
	for _, z := range []float64{-4, -1, 0, .5, 1.7, 2.5, 9} {
		for y := range 9 {
			b := &model.Batch{X: tensor.Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1}},
				Targets: []float32{float32(y)}}
			counted, top := min(y, largest), math.Log(largest)
			want := half(math.Exp(math.Min(z, top)), counted)
			if z > top {
				want += (largest - float64(counted)) * (z - top)
			}
			theta := tensor.Vec{float32(z)}
			if got := m.Loss(theta, b, &w); math.Abs(got-want) > 1e-5*(1+want) {
				t.Errorf("score %v, count %d: loss %v, want %v", z, y, got, want)
			}
			out := tensor.NewMat(1, 1)
			m.Predict(out, theta, b.X, &w)
			got, mean := float64(out.Data[0]), math.Min(largest, math.Exp(z))
			if math.Abs(got-mean) > 1e-5*mean {
				t.Errorf("score %v: %v, want %v", z, got, mean)
			}
		}
	}
	glm, ok := model.Linear(m)
	if zero, _, _ := glm.Loss(0, largest); !ok || zero > glm.AtZero {
		t.Errorf("the loss at 0 is %v, above %v", zero, glm.AtZero)
	}
	b := &model.Batch{X: tensor.Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1}},
		Targets: []float32{float32(math.NaN())}}
	g := make(tensor.Vec, 1)
	if s := m.ClippedGradientSum(g, tensor.Vec{1}, b, 1, &w); s.NonFinite != 1 || g[0] != 0 {
		t.Errorf("a target that is no number adds %v", g)
	}
}

// Every weight of moments is at least the curvature at the record's own count.
func TestWeightsOfCounts(t *testing.T) {
	m := counting(t, 6)
	table, ok := model.TableOf(m)
	if !ok || table.Weight == nil {
		t.Fatal("no table")
	}
	for _, y := range []float64{-3, 0, .2, 1, 4, 6, 1e9, math.Inf(1)} {
		weight := table.Weight(y)
		if _, _, c := func() (a, b, c float64) {
			glm, _ := model.Linear(m)
			return glm.Loss(math.Log(math.Max(y, 1e-9)), y)
		}(); weight < table.Curvature*c || weight < 1 || weight > table.Heaviest {
			t.Errorf("count %v: weight %v, curvature %v", y, weight, c)
		}
	}
}
