package run

import (
	"context"
	"os"
	"testing"
	"time"

	"sotto/experiment"
)

// BenchmarkMNISTWorkers runs the same rounds of the MNIST example with one and with two
// workers, in turn, and reports the ratio of the two times. It needs two processors and
// SOTTO_DATA.
func BenchmarkMNISTWorkers(b *testing.B) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		b.Skip("SOTTO_DATA not set: needs mnist")
	}
	f, err := experiment.Read("../../examples/mnist-dsgd.toml", []string{"privacy.accountant=rdp"})
	if err != nil {
		b.Fatal(err)
	}
	e, err := f.Build(dir)
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 5
	var took [2]time.Duration
	worlds := [2]*Simulation{}
	for i := range worlds {
		if worlds[i], err = Start(e, Own(e), i+1, nil); err != nil {
			b.Fatal(err)
		}
	}
	until := uint64(0)
	for b.Loop() {
		until += rounds
		for i, w := range worlds {
			began := time.Now()
			if err := w.Sim.Run(context.Background(), until); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
		}
	}
	samples := float64(until) * 10 * 256
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "speedup-2-workers")
	b.ReportMetric(samples/took[0].Seconds(), "samples/s-1-worker")
	b.ReportMetric(samples/took[1].Seconds(), "samples/s-2-workers")
}
