package model_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"sotto/model"
	"sotto/tensor"
)

// operations is the floating-point work of one sample's gradient in products and
// convolutions, two for each multiply-add.
func operations(m model.Model) (sum float64) {
	for _, l := range model.Explain(m) {
		sum += 2 * (l.MACs + l.GradientMACs)
	}
	return sum
}

// peak measures the multiply-adds of one core: the best of several short runs, in
// operations per second.
func peak() float64 {
	var best float64
	for range 20 {
		start := time.Now()
		work := tensor.SpinFMA(2000)
		best = max(best, float64(work)/time.Since(start).Seconds())
	}
	return best
}

// timed is a task with the precision of its products.
type timed struct {
	task
	precision string
}

func (k timed) model(b *testing.B) model.Model {
	m, err := model.WithPrecision(k.build(b), k.precision)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func (k timed) title() string {
	if k.precision == "float32" {
		return k.name
	}
	return k.name + "-" + k.precision
}

var benchmarked = []timed{
	{logistic100, "float32"}, {mlp64, "float32"}, {mlp256, "float32"}, {convnet, "float32"}, {cnn, "float32"},
	{dpresnet9, "float32"}, {dpresnet9, "bf16"}, {resnet18, "float32"},
}

func BenchmarkGradient(b *testing.B) {
	for _, k := range benchmarked {
		m := k.model(b)
		samples := 256
		if m.Dim() > 1e6 {
			samples = 64
		}
		batch, theta, dst := k.batch(samples, 1), start(m, 2), make(tensor.Vec, m.Dim())
		var w model.Workspace
		seconds := map[string]float64{}
		for _, mode := range []struct {
			name string
			run  func()
		}{
			{"nonprivate", func() { m.(model.Plain).GradientSum(dst, theta, batch, &w) }},
			{"private", func() { m.ClippedGradientSum(dst, theta, batch, 0.1, &w) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", k.title(), mode.name), func(b *testing.B) {
				b.ReportAllocs()
				mode.run() // the workspace grows once
				top := peak()
				for b.Loop() {
					mode.run()
				}
				perSample := b.Elapsed().Seconds() / float64(b.N) / float64(samples)
				seconds[mode.name] = perSample
				b.ReportMetric(1/perSample, "samples/s")
				top = max(top, peak())
				b.ReportMetric(operations(m)/perSample/top, "of-peak")
				b.ReportMetric(top/1e9, "peak-GFLOP/s")
				if base := seconds["nonprivate"]; mode.name == "private" && base > 0 {
					b.ReportMetric(perSample/base, "price")
				}
			})
		}
	}
}

// BenchmarkWorkers runs the private step of many agents, one agent a worker at a time,
// and relates it to what the same workers reach together on registers alone.
func BenchmarkWorkers(b *testing.B) {
	for _, k := range benchmarked[1:] {
		m := k.model(b)
		samples := 256
		if m.Dim() > 1e6 {
			samples = 64
		}
		b.Run(k.title(), func(b *testing.B) {
			batch, theta := k.batch(samples, 1), start(m, 2)
			workers := runtime.GOMAXPROCS(0)
			ws, sums := make([]model.Workspace, workers), make([]tensor.Vec, workers)
			together(workers, func(i int) {
				sums[i] = make(tensor.Vec, m.Dim())
				m.ClippedGradientSum(sums[i], theta, batch, 0.1, &ws[i])
			})
			top := 0.0
			for range 20 {
				start := time.Now()
				work := make([]int, workers)
				together(workers, func(i int) { work[i] = tensor.SpinFMA(20000) })
				top = max(top, float64(work[0]*workers)/time.Since(start).Seconds())
			}
			b.ResetTimer()
			together(workers, func(i int) {
				for range b.N {
					m.ClippedGradientSum(sums[i], theta, batch, 0.1, &ws[i])
				}
			})
			rate := float64(samples*workers) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "samples/s")
			b.ReportMetric(operations(m)*rate/top, "of-peak")
			b.ReportMetric(top/1e9, "peak-GFLOP/s")
		})
	}
}

// together runs f for each worker at the same time.
func together(workers int, f func(i int)) {
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() { f(i) })
	}
	wait.Wait()
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
