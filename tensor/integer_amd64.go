package tensor

// addTruncated8 is AddTruncated of 8*blocks elements, blocks >= 1.
//
//go:noescape
func addTruncated8(dst *int64, x *float32, k float64, blocks int)

// fastAddTruncated returns how many elements it has done.
func fastAddTruncated(dst []int64, x []float32, k float64) int {
	done := 0
	for active != portable && done+8 <= len(dst) {
		blocks := min(len(dst)-done, longest) / 8
		addTruncated8(&dst[done], &x[done], k, blocks)
		done += 8 * blocks
	}
	return done
}
