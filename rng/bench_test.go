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

// BenchmarkSelect draws a Poisson batch of 256 from 6000 records.
func BenchmarkSelect(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := NewStream(&k, Sample)
	index, dst := make([]int32, 6000), make([]int32, 0, 6000)
	t, _ := Threshold(256. / 6000)
	for b.Loop() {
		dst = s.Select(dst[:0], index, t)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6000, "ns/record")
}

// BenchmarkShortStream draws 16 words below a fresh key: key expansion counts.
func BenchmarkShortStream(b *testing.B) {
	k := Simulated(1, 0, 0)
	s := new(Stream)
	for b.Loop() {
		s.Rekey(&k, Sample)
		for range 16 {
			s.Uint64()
		}
	}
}
