package oracle

import (
	"math"
	"math/big"
	"testing"
)

// The integers of a clipped record are never longer than the clip, also where the norm of
// a long record loses its last digits in double precision: here all but the first of two
// million squares are rounded the same way when they are summed.
func TestLongRecordsHoldTheClip(t *testing.T) {
	const step, first = 0x1p-20, 1<<20 - 1
	dim := 2*first + 102 // the integers' squared norm would be 2^40 + 100
	small := math.Sqrt(20+.49/256) * step
	x := make([]float64, dim)
	for i := range x {
		x[i] = small * (1 + 2e-12)
	}
	x[0] = (first + 1e-6) * small
	got := make([]int64, dim)
	addClipped(got, x, 1, step)
	sum := new(big.Int)
	for _, v := range got {
		sum.Add(sum, big.NewInt(v*v))
	}
	if most := big.NewInt(1 << 40); sum.Cmp(most) > 0 {
		t.Errorf("squared norm %v in steps of the clip's 2^-20, allowed: %v", sum, most)
	}
}
