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

// mixed is two numbers with a feature that is 0 or 1 between them.
var mixed = model.Shape{Height: 1, Width: 1, Channels: 3, Classes: 2,
	Numbers: model.FormatNumbers([]model.Number{{At: 0, Low: 0, High: 1}, {At: 2, Low: -1, High: 3}})}

func additive(t *testing.T, bins int, s model.Shape) model.Model {
	t.Helper()
	m, err := model.New("additive", s, func(p any) error {
		if p, ok := p.(*model.AdditiveParams); ok {
			p.Bins = bins
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rows are some within the ranges, some beyond.
func rows(n, classes int) *model.Batch {
	r := modeltest.Source(4)
	b := &model.Batch{X: tensor.NewMat(n, 3)}
	for i := range n {
		copy(b.X.Row(i), []float32{.5 + .7*unit(&r), float32(i % 2), 1 + 2.5*unit(&r)})
		b.Labels = append(b.Labels, int32(i%max(1, classes)))
		b.Targets = append(b.Targets, unit(&r))
	}
	return b
}

func TestAdditiveConforms(t *testing.T) {
	for _, classes := range []int{0, 2, 3} {
		s := mixed
		s.Classes = classes
		modeltest.Run(t, func() (model.Model, *model.Batch) { return additive(t, 2, s), rows(71, classes) })
	}
}

// The exported graph, run by the interpreter of this package's tests, predicts what
// Predict does.
func TestAdditiveONNX(t *testing.T) {
	for _, classes := range []int{0, 2, 3} {
		s := mixed
		s.Classes = classes
		m, batch := additive(t, 3, s), rows(40, classes)
		r, theta := modeltest.Source(5), make(tensor.Vec, 0)
		for range m.Dim() {
			theta = append(theta, unit(&r))
		}
		file, err := model.EncodeONNX(m, theta, "test", "0")
		if err != nil {
			t.Fatal(err)
		}
		want := tensor.NewMat(batch.Len(), m.Outputs())
		m.Predict(want, theta, batch.X, new(model.Workspace))
		x := newArray(batch.Len(), 3)
		for i, v := range batch.X.Data {
			x.v[i] = float64(v)
		}
		got := readProgram(file).run(x)
		for i, v := range want.Data {
			if math.Abs(got.v[i]-float64(v)) > 1e-5 {
				t.Fatalf("%d classes, output %d: %v executed, %v predicted", classes, i, got.v[i], v)
			}
		}
	}
}

// A shape is what interpolation between its heights gives, and constant beyond.
func TestAdditiveInterpolates(t *testing.T) {
	m := additive(t, 2, mixed)
	theta := tensor.Vec{1, 3, -1, 5, 10, 20, 40, .5}
	if m.Dim() != len(theta) {
		t.Fatalf("%d parameters, want 3 knots, 1 weight, 3 knots and a constant", m.Dim())
	}
	for _, c := range []struct{ a, b, c, want float64 }{
		{0, 0, -1, 1 + 10 + .5},
		{.25, 1, 0, 2 + 5 + 15 + .5},
		{.5, 0, 1, 3 + 20 + .5},
		{1, 0, 3, -1 + 40 + .5},
		{7, 0, -9, -1 + 10 + .5},
	} {
		x := tensor.NewMat(1, 3)
		copy(x.Data, []float32{float32(c.a), float32(c.b), float32(c.c)})
		out := tensor.NewMat(1, 1)
		m.Predict(out, theta, x, new(model.Workspace))
		if got := float64(out.Data[0]); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%v: %v, want %v", c, got, c.want)
		}
	}
	table, ok := model.TableOf(m)
	if _, linear := model.Linear(m); linear || !ok || len(table.Curves) != 3 || table.Curves[2].At != 4 {
		t.Errorf("table %+v", table.Curves)
	}
}

func TestAdditiveRefuses(t *testing.T) {
	for numbers, key := range map[string]string{"0:1": "numbers", "3:0:1": "numbers", "0:1:1": "numbers",
		"1:0:1 0:0:1": "numbers", "x:0:1": "numbers", "0:0:Inf": "numbers"} {
		s := mixed
		s.Numbers = numbers
		_, err := model.New("additive", s, nil)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%q: %v", numbers, err)
		}
	}
	_, err := model.New("additive", mixed, func(p any) error {
		p.(*model.AdditiveParams).Bins = 65
		return nil
	})
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "bins" {
		t.Error(err)
	}
}
