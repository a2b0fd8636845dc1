package model_test

import (
	"math"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// The derivatives are those of the loss (central differences), and value and slope are
// those of the network's own loss.
func TestGLM(t *testing.T) {
	for name, classes := range map[string]int{"logistic": 2, "least-squares": 0, "huber": 0, "poisson": 0} {
		m, err := model.New(name, model.Shape{Height: 1, Width: 1, Channels: 1, Classes: classes}, nil)
		if err != nil {
			t.Fatal(err)
		}
		glm, ok := model.Linear(m)
		if !ok {
			t.Fatalf("%s is no generalized linear model", name)
		}
		for _, z := range []float64{-30, -3, -.7, .1, .2, 1.6, 40} {
			for _, y := range []float64{-1, 1} {
				const h = 1e-4
				value, slope, curvature := glm.Loss(z, y)
				up, slopeUp, _ := glm.Loss(z+h, y)
				down, slopeDown, _ := glm.Loss(z-h, y)
				if d := (up - down) / (2 * h); math.Abs(d-slope) > 1e-6 {
					t.Errorf("%s at %g, %g: slope %g, differences give %g", name, z, y, slope, d)
				}
				if d := (slopeUp - slopeDown) / (2 * h); math.Abs(d-curvature) > 1e-6 {
					t.Errorf("%s at %g, %g: curvature %g, differences give %g", name, z, y, curvature, d)
				}
				if math.Abs(slope) > glm.Slope {
					t.Errorf("%s at %g, %g: slope %g above the bound %g", name, z, y, slope, glm.Slope)
				}
				b := &model.Batch{X: tensor.Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1}}}
				if classes > 0 {
					b.Labels = []int32{int32((y + 1) / 2)}
				} else {
					b.Targets = []float32{float32(y)}
				}
				gradient := make(tensor.Vec, 1)
				var w model.Workspace
				m.ClippedGradientSum(gradient, tensor.Vec{float32(z)}, b, math.Inf(1), &w)
				if l := m.Loss(tensor.Vec{float32(z)}, b, &w); math.Abs(l-value) > 1e-5*(1+value) ||
					math.Abs(float64(gradient[0])-slope) > 1e-5*(1+math.Abs(slope)) {
					t.Errorf("%s at %g, %g: loss %g and slope %g, the network has %g and %g", name, z, y,
						value, slope, l, gradient[0])
				}
			}
		}
	}
	mlp, err := model.New("mlp", model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := model.Linear(mlp); ok {
		t.Error("a network with a hidden layer passes for a linear model")
	}
}
