package tensor

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestAddTruncated compares every set of kernels with the definition in big numbers: the
// product rounded to 53 bits, its whole part.
func TestAddTruncated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32Range(-1000, 1000), 0, 70).Draw(t, "x")
		k := rapid.Float64Range(-2e6, 2e6).Draw(t, "k")
		want := make([]int64, len(x))
		for i, v := range x {
			product := new(big.Float).SetPrec(53).Mul(big.NewFloat(float64(v)), big.NewFloat(k))
			whole, _ := product.Int64() // toward zero
			want[i] = int64(i) - 3 + whole
		}
		each(func(l level) {
			got := make([]int64, len(x))
			for i := range got {
				got[i] = int64(i) - 3
			}
			AddTruncated(got, x, k)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s: element %d of %d: %g times %g adds up to %d, want %d", levelNames[l], i,
						len(x), k, x[i], got[i], want[i])
				}
			}
		})
	})
}

func BenchmarkAddTruncated(b *testing.B) {
	x, dst := make([]float32, 1<<14), make([]int64, 1<<14)
	for i := range x {
		x[i] = float32(i)
	}
	each(func(l level) {
		b.Run(levelNames[l], func(b *testing.B) {
			for b.Loop() {
				AddTruncated(dst, x, .5)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/element")
		})
	})
}
