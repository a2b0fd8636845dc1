package data

import (
	"math"
	"testing"

	"sotto/tensor"
)

// Half-pixel bilinear values worked out by hand: 2 -> 4 samples lie at -1/4 (clamped to
// 0), 1/4, 3/4 and 5/4 (clamped to 1); 4 -> 2 at 1/2 and 5/2.
func TestResample(t *testing.T) {
	up := newResampler(2, 4)
	dst := make(tensor.Vec, 16)
	resample(dst, []float32{0, 4, 8, 12}, up, up, 2, 1)
	want := tensor.Vec{0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12}
	for i := range want {
		if dst[i] != want[i] {
			t.Fatalf("2x2 to 4x4: %v, want %v", dst, want)
		}
	}
	row, col := newResampler(1, 1), newResampler(4, 2)
	dst = dst[:4]
	// Two channels: the second is the first times 10.
	resample(dst, []float32{0, 0, 1, 10, 4, 40, 6, 60}, row, col, 4, 2)
	want = tensor.Vec{.5, 5, 5, 50}
	for i := range want {
		if dst[i] != want[i] {
			t.Fatalf("1x4 to 1x2: %v, want %v", dst, want)
		}
	}
	// A linear ramp stays linear away from the clamped edge, 28 -> 32 included.
	ramp := make([]float32, 28)
	for i := range ramp {
		ramp[i] = float32(i)
	}
	dst = make(tensor.Vec, 32)
	resample(dst, ramp, newResampler(1, 1), newResampler(28, 32), 28, 1)
	for o, v := range dst {
		want := min(27, max(0, (float64(o)+.5)*.875-.5))
		if math.Abs(float64(v)-want) > 1e-5 {
			t.Errorf("ramp at %d is %v, want %v", o, v, want)
		}
	}
}
