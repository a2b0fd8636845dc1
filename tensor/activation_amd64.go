package tensor

// rectify8 is Rectify of 8*blocks elements, blocks >= 1, for any slope but 0; relu8 is
// that for slope 0.
//
//go:noescape
func rectify8(y, x *float32, slope float32, blocks int)

//go:noescape
func relu8(y, x *float32, blocks int)

// rectifyGradient8 is RectifyGradient of 8*blocks elements, blocks >= 1.
//
//go:noescape
func rectifyGradient8(dx, dy, x *float32, slope float32, blocks int)

// tanh8, sigmoid8 and gelu8 are Tanhs, Sigmoids and GELUs of 8*blocks elements, blocks >=
// 1.
//
//go:noescape
func tanh8(y, d, x *float32, blocks int)

//go:noescape
func sigmoid8(y, d, x *float32, blocks int)

//go:noescape
func gelu8(y, d, x *float32, blocks int)

// mul8 is Mul of 8*blocks elements, blocks >= 1.
//
//go:noescape
func mul8(dst, a, b *float32, blocks int)

// fastRectify returns the number of elements it has done, as do the functions below.
func fastRectify(y, x []float32, slope float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		if slope == 0 {
			relu8(&y[done], &x[done], blocks)
		} else {
			rectify8(&y[done], &x[done], slope, blocks)
		}
		done += 8 * blocks
	}
	return done
}

func fastRectifyGradient(dx, dy, x []float32, slope float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		rectifyGradient8(&dx[done], &dy[done], &x[done], slope, blocks)
		done += 8 * blocks
	}
	return done
}

func fastMul(dst, a, b []float32) int {
	done := 0
	for active != portable && done+8 <= len(dst) {
		blocks := min(len(dst)-done, longest) / 8
		mul8(&dst[done], &a[done], &b[done], blocks)
		done += 8 * blocks
	}
	return done
}

func fastTanh(y, d, x []float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		tanh8(&y[done], &d[done], &x[done], blocks)
		done += 8 * blocks
	}
	return done
}

func fastSigmoid(y, d, x []float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		sigmoid8(&y[done], &d[done], &x[done], blocks)
		done += 8 * blocks
	}
	return done
}

func fastGELU(y, d, x []float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		gelu8(&y[done], &d[done], &x[done], blocks)
		done += 8 * blocks
	}
	return done
}
