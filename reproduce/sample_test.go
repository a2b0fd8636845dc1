package reproduce

import (
	"math"
	"testing"
)

// Anscombe's first quartet: slope .5001 with standard error .1179, and t(.975, 9) =
// 2.2622.
func TestFitSlope(t *testing.T) {
	xs := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	ys := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	slope, half := FitSlope(xs, ys)
	if math.Abs(slope-.5001) > 1e-4 || math.Abs(half-2.2622*.1179) > 2e-4 {
		t.Errorf("slope %.5f ± %.5f, want .5001 ± %.4f", slope, half, 2.2622*.1179)
	}
	if slope, half := FitSlope(xs[:2], ys[:2]); !math.IsNaN(slope) || !math.IsNaN(half) {
		t.Errorf("two points: %v ± %v, want none", slope, half)
	}
}
