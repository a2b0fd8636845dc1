//go:build !amd64

package tensor

func supported() level { return portable }

// fastProduct says that there are no kernels for this architecture.
func fastProduct(_ Mat, _, _ strided, _ int, _ bool) bool { return false }

// SpinFMA does rounds > 0 rounds of multiplications and additions with the inner loop of
// the products and returns the number of floating-point operations. Timed, it measures
// what the best product could reach.
func SpinFMA(rounds int) int { return spinPortable(rounds) }

func fastConvolve(_, _, _ []float32, _, _, _, _, _ int, _ []float32) int { return 0 }

func fastConvolveRow(_ []float32, _ int, _ []float32, _, _, _, _ int, _ []float32) bool { return false }

func fastPool(_, _ []float32, _ []int32, _, _ []float32, _ []int32, _ *[4]int32) bool { return false }

func fastPatches(_ *[3][41]float32, _ []float32, _ int, _ []float32, _ []int32, _ int) bool {
	return false
}

func fastLargest(_ []int32) (most uint32, done int) { return 0, 0 }

func fastInterleave(_, _ []float32, _ int) int { return 0 }

func fastMultiplyPlanes(_, _ []float32, _ int) int { return 0 }

func fastMish(_, _, _ []float32) int { return 0 }

func fastSquares(_ []float32) (sum float64, ok bool) { return 0, false }

func fastScaleToward(_ []float32, _ float64) int { return 0 }

func fastAddScaled(_, _ []float32, _ float32) int { return 0 }

func fastWeightedSum(_ Vec, _ []float64, _ []Vec) int { return 0 }

func fastWeightedSums(_, _ []Vec, _ []float64, _, _ int) int { return 0 }

func fastTranspose(_ []float32, _ int, _ []float32, _, _, _ int) bool { return false }

// SpinBF16 is SpinFMA for bfloat16 products.
func SpinBF16(rounds int) int { return SpinFMA(rounds) }

func tiles() bool { return false }

func tileProduct(_ Mat, _, _ stridedBF16, _ int, _ bool) { panic("tensor: no tiles") }

// HasDotBF16 reports whether bfloat16 products use a dot product of vectors.
func HasDotBF16() bool { return false }

type dotTile struct{}

var dot512x14 dotTile

func dotProduct(_ Mat, _, _ stridedBF16, _ int, _ bool, _ dotTile) { panic("tensor: no dot products") }

func fastRoundBF16(_ []uint16, _ []float32) int { return 0 }

func fastTruncateBF16(_ []uint16, _ []float32) int { return 0 }

func fastWidenBF16(_ []float32, _ []uint16) int { return 0 }
