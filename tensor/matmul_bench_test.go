package tensor

import (
	"fmt"
	"testing"
)

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
	} {
		b.Run(fmt.Sprintf("%s/%dx%dx%d", s.name, s.m, s.k, s.n), func(b *testing.B) {
			a, bb, dst := NewMat(s.m, s.k), NewMat(s.k, s.n), NewMat(s.m, s.n)
			if s.ta {
				a = NewMat(s.k, s.m)
			}
			if s.tb {
				bb = NewMat(s.n, s.k)
			}
			for b.Loop() {
				s.mul(dst, a, bb, false)
			}
			b.ReportMetric(float64(s.m*s.k*s.n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
