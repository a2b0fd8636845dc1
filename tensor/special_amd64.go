package tensor

// Kernels of 8*blocks elements, blocks >= 1.
//
//go:noescape
func expm1512(dst, x *float64, blocks int)

//go:noescape
func expm1256(dst, x *float64, blocks int)

//go:noescape
func log1p512(dst, x *float64, blocks int)

//go:noescape
func log1p256(dst, x *float64, blocks int)

//go:noescape
func normalTails512(above, below, x *float64, blocks int)

//go:noescape
func normalTails256(above, below, x *float64, blocks int)

// Each of these returns how many elements it has done; the caller does the rest.

func fastExpm1(dst, x []float64) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		if active == avx512 {
			expm1512(&dst[done], &x[done], blocks)
		} else {
			expm1256(&dst[done], &x[done], blocks)
		}
		done += 8 * blocks
	}
	return done
}

func fastLog1p(dst, x []float64) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		if active == avx512 {
			log1p512(&dst[done], &x[done], blocks)
		} else {
			log1p256(&dst[done], &x[done], blocks)
		}
		done += 8 * blocks
	}
	return done
}

func fastNormalTails(above, below, x []float64) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		if active == avx512 {
			normalTails512(&above[done], &below[done], &x[done], blocks)
		} else {
			normalTails256(&above[done], &below[done], &x[done], blocks)
		}
		done += 8 * blocks
	}
	return done
}
