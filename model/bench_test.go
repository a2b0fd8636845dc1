package model_test

import (
	"fmt"
	"math"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

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
