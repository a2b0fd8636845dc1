package tensor

import (
	"fmt"
	"testing"
	"time"
)

// peak measures the floating-point operations per second of the kernels in use: the best
// of several short runs.
func peak() float64 {
	var best float64
	for range 20 {
		start := time.Now()
		work := SpinFMA(2000)
		best = max(best, float64(work)/time.Since(start).Seconds())
	}
	return best
}

func BenchmarkMul(b *testing.B) {
	for _, s := range []struct {
		name    string
		mul     func(dst, a, b Mat, add bool)
		m, k, n int
		ta, tb  bool
	}{
		{"NN", MulNN, 32, 588, 64, false, false},
		{"TN", MulTN, 588, 32, 64, true, false},
		{"NT", MulNT, 32, 64, 588, false, true},
		{"NN", MulNN, 32, 100, 1, false, false},
		{"TN", MulTN, 100, 32, 1, true, false},
		{"NN", MulNN, 32, 784, 64, false, false},
		{"TN", MulTN, 784, 32, 64, true, false},
		{"NN", MulNN, 32, 64, 10, false, false},
		{"NN", MulNN, 256, 784, 64, false, false},
		{"TN", MulTN, 784, 256, 64, true, false},
		{"NN", MulNN, 256, 784, 256, false, false},
		{"TN", MulTN, 784, 256, 256, true, false},
		{"NT", MulNT, 256, 64, 588, false, true},
		{"NT", MulNT, 256, 64, 784, false, true},
		{"NN", MulNN, 1024, 1024, 1024, false, false},
		{"NN", MulNN, 32, 784, 256, false, false},
		{"TN", MulTN, 784, 32, 256, true, false},
		{"NT", MulNT, 32, 256, 784, false, true},
		{"NN", MulNN, 256, 576, 64, false, false}, // convolutions as products
		{"NN", MulNN, 256, 1152, 128, false, false},
		{"NN", MulNN, 64, 2304, 256, false, false},
		{"NN", MulNN, 64, 4608, 512, false, false},
		{"NN", MulNN, 256, 4608, 512, false, false},
		{"TN", MulTN, 576, 256, 64, true, false},
		{"TN", MulTN, 1152, 256, 128, true, false},
		{"TN", MulTN, 2304, 64, 256, true, false},
		{"TN", MulTN, 4608, 64, 512, true, false},
		{"TN", MulTN, 4608, 256, 512, true, false},
		{"NT", MulNT, 256, 64, 576, false, true},
		{"NT", MulNT, 256, 128, 1152, false, true},
		{"NT", MulNT, 64, 256, 2304, false, true},
		{"NT", MulNT, 64, 512, 4608, false, true},
		{"NT", MulNT, 256, 512, 4608, false, true},
		{"NN", MulNN, 512, 512, 512, false, false}, // strides that fall on few sets of the cache
		{"NN", MulNN, 1000, 1000, 1000, false, false},
		{"NN", MulNN, 256, 1024, 1024, false, false},
		{"NN", MulNN, 256, 2048, 1024, false, false},
		{"NN", MulNN, 256, 2048, 2048, false, false},
		{"NN", MulNN, 32, 1024, 1024, false, false},
		{"NN", MulNN, 32, 2048, 2048, false, false},
		{"NT", MulNT, 32, 1024, 1024, false, true},
		{"NT", MulNT, 256, 1024, 1024, false, true},
		{"NT", MulNT, 256, 2048, 2048, false, true},
		{"TN", MulTN, 1024, 32, 1024, true, false},
		{"TN", MulTN, 1024, 256, 1024, true, false},
		{"TN", MulTN, 2048, 256, 2048, true, false},
		{"TN", MulTN, 1024, 1024, 1024, true, false},
		{"NT", MulNT, 1024, 1024, 1024, false, true},
	} {
		each(func(l level) {
			b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", s.name, s.m, s.k, s.n, levelNames[l]), func(b *testing.B) {
				a, bb, dst := NewMat(s.m, s.k), NewMat(s.k, s.n), NewMat(s.m, s.n)
				if s.ta {
					a = NewMat(s.k, s.m)
				}
				if s.tb {
					bb = NewMat(s.n, s.k)
				}
				top := peak()
				for b.Loop() {
					s.mul(dst, a, bb, false)
				}
				rate := 2 * float64(s.m*s.k*s.n) * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate/1e9, "GFLOP/s")
				b.ReportMetric(rate/max(top, peak()), "of-peak")
			})
		})
	}
}
