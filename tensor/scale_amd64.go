package tensor

// Kernels on whole vectors. Each function returns how many elements it has done; the
// caller does the rest.

// copyRow16 copies 16*blocks elements, blocks >= 1, and prefetches as many of next.
//
//go:noescape
func copyRow16(dst, src, next *float32, blocks int)

// scale8 is Scale of 8*blocks elements, blocks >= 1.
//
//go:noescape
func scale8(v, x *float32, f float32, blocks int)

// finite8 is Finite of 8*blocks elements, blocks >= 1.
//
//go:noescape
func finite8(x *float32, blocks int) bool

func fastCopyRow(dst, src, next []float32) int {
	blocks := min(len(dst), longest) / 16
	if active == portable || blocks == 0 {
		return 0
	}
	copyRow16(&dst[0], &src[0], &next[0], blocks)
	return 16 * blocks
}

func fastScale(v, x []float32, f float32) int {
	done := 0
	for active != portable && done+8 <= len(v) {
		blocks := min(len(v)-done, longest) / 8
		scale8(&v[done], &x[done], f, blocks)
		done += 8 * blocks
	}
	return done
}

// fastFinite stops where it finds an element that is not finite.
func fastFinite(x []float32) (done int, ok bool) {
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		if !finite8(&x[done], blocks) {
			return done, false
		}
		done += 8 * blocks
	}
	return done, true
}
