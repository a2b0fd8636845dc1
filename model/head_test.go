package model_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/config"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// A body followed by its head is the model, and the head's gradient is the last part of
// the model's.
func TestSplitHead(t *testing.T) {
	for _, k := range []struct {
		task
		layers, dim int // of the head
	}{
		{cnn, 1, 330}, {mlp64, 1, 650}, {convnet, 2, 37696 + 650}, {resnet18, 1, 5130},
	} {
		m := k.build(t)
		body, head, err := model.SplitHead(m, k.layers)
		if err != nil {
			t.Fatal(k.name, err)
		}
		if head.Dim() != k.dim || body.Dim()+head.Dim() != m.Dim() {
			t.Fatalf("%s: %d and %d parameters, want %d of %d in the head", k.name, body.Dim(), head.Dim(),
				k.dim, m.Dim())
		}
		s := new(modeltest.Source)
		n := 40
		if k.dim > 1000 && k.layers == 1 {
			n = 3
		}
		theta, x := make(tensor.Vec, m.Dim()), tensor.NewMat(n, k.shape.Features())
		m.Init(theta, s)
		labels := make([]int32, n)
		for i := range x.Data {
			x.Data[i] = unit(s)
		}
		for i := range labels {
			labels[i] = int32(i % k.shape.Classes)
		}
		w, at := new(model.Workspace), body.Dim()
		z, want, got := tensor.NewMat(n, body.Features()), tensor.NewMat(n, m.Outputs()),
			tensor.NewMat(n, m.Outputs())
		m.Predict(want, theta, x, w)
		body.Apply(z, theta[:at], x, w)
		head.Predict(got, theta[at:], z, w)
		for i := range want.Data {
			if want.Data[i] != got.Data[i] {
				t.Fatalf("%s: output %d is %g, in two parts %g", k.name, i, want.Data[i], got.Data[i])
			}
		}
		whole, part := make(tensor.Vec, m.Dim()), make(tensor.Vec, head.Dim())
		m.ClippedGradientSum(whole, theta, &model.Batch{X: x, Labels: labels}, math.Inf(1), w)
		head.ClippedGradientSum(part, theta[at:], &model.Batch{X: z, Labels: labels}, math.Inf(1), w)
		for i, g := range part {
			if math.Abs(float64(g-whole[at+i])) > 1e-4 {
				t.Fatalf("%s: gradient %d of the head is %g, of the model %g", k.name, i, g, whole[at+i])
			}
		}
	}
}

func TestSplitHeadRefuses(t *testing.T) {
	half, err := model.WithPrecision(cnn.build(t), "bf16")
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct {
		m      model.Model
		layers int
	}{
		"none": {cnn.build(t), 0}, "negative": {cnn.build(t), -1}, "all": {mlp64.build(t), 2},
		"more":                    {mlp64.build(t), 7},
		"inside a residual block": {resnet18.build(t), 2}, "bf16": {half, 1},
	} {
		_, _, err := model.SplitHead(k.m, k.layers)
		if name == "none" && (err == nil || !strings.Contains(err.Error(), "found 0, allowed: 1 to ")) {
			t.Errorf("the range holds what was found: %v", err)
		}
		var e *config.Error
		if !errors.As(err, &e) || e.Key != "train_layers" || e.Allowed == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
