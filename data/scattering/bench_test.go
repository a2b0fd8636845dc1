package scattering

import "testing"

// Images of CIFAR's size a second on one core.
func BenchmarkImage(b *testing.B) {
	tr, err := New(32, 32)
	if err != nil {
		b.Fatal(err)
	}
	image, dst, s := noise(32*32*3, 1), make([]float32, tr.Size(3)), new(Scratch)
	for b.Loop() {
		tr.Image(dst, image, 3, s)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
}

func BenchmarkWhitening(b *testing.B) {
	t, err := New(32, 32)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		if _, err := NewWhitening(t, Pixels{Channels: 3}, 27, 1, 1000); err != nil {
			b.Fatal(err)
		}
	}
}
