package tensor

// Vector kernels that give the bits of the Go loops; 8 elements at a time. Each function
// returns how many elements it has done; the caller does the rest.

// longest is how many elements one call handles: assembly cannot be interrupted, so that
// a call takes microseconds.
const longest = 1 << 13

// scaleToward8 is ScaleToward of 8*blocks elements, blocks >= 1.
//
//go:noescape
func scaleToward8(x *float32, f float64, blocks int)

// addScaled8 is AddScaled of 8*blocks elements, blocks >= 1.
//
//go:noescape
func addScaled8(v, x *float32, f float32, blocks int)

// accumulate8 adds w*x to 8*blocks sums, blocks >= 1.
//
//go:noescape
func accumulate8(sums *float64, x *float32, w float64, blocks int)

// narrow8 rounds 8*blocks sums, blocks >= 1.
//
//go:noescape
func narrow8(dst *float32, sums *float64, blocks int)

func fastScaleToward(x []float32, f float64) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		scaleToward8(&x[done], f, blocks)
		done += 8 * blocks
	}
	return done
}

func fastAddScaled(v, x []float32, f float32) int {
	done := 0
	for active != portable && done+8 <= len(v) {
		blocks := min(len(v)-done, longest) / 8
		addScaled8(&v[done], &x[done], f, blocks)
		done += 8 * blocks
	}
	return done
}

func fastWeightedSum(dst Vec, weights []float64, xs []Vec) int {
	if active == portable {
		return 0
	}
	var sums [256]float64
	done := 0
	for done+8 <= len(dst) {
		blocks := min(len(dst)-done, len(sums)) / 8
		clear(sums[:8*blocks])
		for j, w := range weights {
			accumulate8(&sums[0], &xs[j][done], w, blocks)
		}
		narrow8(&dst[done], &sums[0], blocks)
		done += 8 * blocks
	}
	return done
}
