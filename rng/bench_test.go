package rng

import "testing"

func BenchmarkDiscreteGaussian(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Noise)
	g, err := NewDiscreteGaussian(1<<20, 1)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]int64, 1_000_000)
	for b.Loop() {
		g.Fill(s, x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/value")
}

func BenchmarkDiscreteLaplace(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Noise)
	for b.Loop() {
		s.DiscreteLaplace(1 << 20)
	}
}
