package model_test

import (
	"fmt"
	"math"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// splitMix is a Source: Steele, Lea, Flood 2014.
type splitMix uint64

func (s *splitMix) Uint64() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit returns a number uniform in [-1, 1).
func (s *splitMix) unit() float32 { return float32(int32(s.Uint64()>>32)) / (1 << 31) }

// task is one model with a shape; classes 0 is a regression.
type task struct {
	name   string
	kind   string
	shape  model.Shape
	params any // copied into what the constructor decodes
	dim    int
}

var (
	logistic100 = task{"logistic-100", "logistic", model.Shape{Height: 1, Width: 100, Channels: 1, Classes: 2}, model.LinearParams{Intercept: true}, 101}
	mlp64       = task{"mlp-784-64-10", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, nil, 50890}
	mlp256      = task{"mlp-784-256-10", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, model.MLPParams{Hidden: []int{256}, Activation: "relu"}, 203530}
	convnet     = task{"convnet", "convnet", model.Shape{Height: 32, Width: 32, Channels: 1, Classes: 10}, nil, 38424}
)

func (k task) build(t testing.TB) model.Model {
	t.Helper()
	m, err := model.New(k.kind, k.shape, decoder(k.params))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// decoder copies params into the constructor's struct.
func decoder(params any) func(any) error {
	return func(dst any) error {
		switch dst := dst.(type) {
		case *model.MLPParams:
			if p, ok := params.(model.MLPParams); ok {
				*dst = p
			}
		case *model.LinearParams:
			if p, ok := params.(model.LinearParams); ok {
				*dst = p
			}
		}
		return nil
	}
}

// batch draws n samples with elements in [-1, 1) and random labels or targets.
func (k task) batch(n int, seed uint64) *model.Batch {
	r := splitMix(seed)
	b := &model.Batch{X: tensor.NewMat(n, k.shape.Features())}
	for i := range b.X.Data {
		b.X.Data[i] = r.unit()
	}
	for range n {
		if k.shape.Classes == 0 {
			b.Targets = append(b.Targets, r.unit())
		} else {
			b.Labels = append(b.Labels, int32(r.Uint64()%uint64(k.shape.Classes)))
		}
	}
	return b
}

func start(m model.Model, seed uint64) tensor.Vec {
	theta := make(tensor.Vec, m.Dim())
	r := splitMix(seed)
	m.Init(theta, &r)
	return theta
}

func BenchmarkGradient(b *testing.B) {
	for _, k := range []task{logistic100, mlp64, mlp256, convnet} {
		m := k.build(b)
		batch, theta, dst := k.batch(256, 1), start(m, 2), make(tensor.Vec, m.Dim())
		var w model.Workspace
		seconds := map[string]float64{}
		for _, mode := range []struct {
			name string
			run  func()
		}{
			{"nonprivate", func() { m.ClippedGradientSum(dst, theta, batch, math.Inf(1), &w) }},
			{"private", func() { m.ClippedGradientSum(dst, theta, batch, 0.1, &w) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", k.name, mode.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					mode.run()
				}
				perSample := b.Elapsed().Seconds() / float64(b.N) / 256
				seconds[mode.name] = perSample
				b.ReportMetric(1/perSample, "samples/s")
				b.ReportMetric(1e6*perSample, "us/sample")
				if base := seconds["nonprivate"]; mode.name == "private" && base > 0 {
					b.ReportMetric(perSample/base, "price")
				}
			})
		}
	}
}

func BenchmarkGrid(b *testing.B) {
	for _, k := range []task{logistic100, mlp64, convnet} {
		m := k.build(b)
		batch, theta, dst := k.batch(256, 1), start(m, 2), make([]int64, m.Dim())
		var w model.Workspace
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				m.(model.GridModel).ClippedGradientGrid(dst, theta, batch, 1, 0x1p-20, &w)
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, k := range []task{mlp64, convnet} {
		m := k.build(b)
		batch, theta := k.batch(256, 1), start(m, 2)
		var w model.Workspace
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				model.Evaluate(m, theta, batch, &w)
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
