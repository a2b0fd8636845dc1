package tensor

import (
	"fmt"
	"testing"
	"time"
)

// peakBF16 is peak for bfloat16 products.
func peakBF16() float64 {
	var best float64
	for range 20 {
		start := time.Now()
		work := SpinBF16(1000)
		best = max(best, float64(work)/time.Since(start).Seconds())
	}
	return best
}

func BenchmarkMul16(b *testing.B) {
	for _, s := range []struct {
		name    string
		mul     func(dst Mat, a, b MatBF16, add bool)
		m, k, n int
		ta, tb  bool
	}{
		{"NN", MulNN16, 256, 576, 64, false, false},
		{"NN", MulNN16, 256, 1152, 128, false, false},
		{"NN", MulNN16, 64, 2304, 256, false, false},
		{"NN", MulNN16, 256, 4608, 512, false, false},
		{"TN", MulTN16, 1152, 256, 128, true, false},
		{"TN", MulTN16, 2304, 64, 256, true, false},
		{"TN", MulTN16, 4608, 256, 512, true, false},
		{"NT", MulNT16, 256, 128, 1152, false, true},
		{"NT", MulNT16, 256, 512, 4608, false, true},
		{"NN", MulNN16, 1024, 1024, 1024, false, false},
	} {
		eachBF16(func(kind string) {
			b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", s.name, s.m, s.k, s.n, kind), func(b *testing.B) {
				x, y, dst := newMatBF16(s.m, s.k), newMatBF16(s.k, s.n), NewMat(s.m, s.n)
				if s.ta {
					x = newMatBF16(s.k, s.m)
				}
				if s.tb {
					y = newMatBF16(s.n, s.k)
				}
				top := peakBF16()
				for b.Loop() {
					s.mul(dst, x, y, false)
				}
				rate := 2 * float64(s.m*s.k*s.n) * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate/1e9, "GFLOP/s")
				b.ReportMetric(rate/max(top, peakBF16()), "of-peak")
			})
		})
	}
}

func BenchmarkBF16(b *testing.B) {
	const n = 1 << 15
	x, y := make([]float32, n), make([]uint16, n)
	each(func(l level) {
		for name, f := range map[string]func(){
			"Round":    func() { RoundBF16(y, x) },
			"Truncate": func() { TruncateBF16(y, x, 0.5) },
			"Widen":    func() { WidenBF16(x, y) },
		} {
			b.Run(name+"/"+levelNames[l], func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		}
	})
}
