package tensor

// These kernels have the same bits on both instruction sets: every element is computed
// alone, or in the same chain.

// The functions here return false, or the number of elements they have done; the caller
// does the rest.

// fastConvolve returns the number of rows it has done: all of them where four rows of 16
// positions fill the registers.
func fastConvolve(top, bottom, x []float32, rows, n, width, area, channels int, filter []float32) int {
	if active != avx512 || rows < 4 || n < 16 {
		return 0
	}
	_ = x[(channels-1)*area+(rows+3)*width+n+3]
	bias, plane := &filter[75*channels], 4*(rows/2*n)
	for r := 0; r < rows; r += 4 {
		i := min(r, rows-4) // the last block overlaps the one before
		for c := 0; c < n; c += 32 {
			col := min(c, max(0, n-32))
			second := min(16, n-16-col)
			at := i/2*n + col
			convolve4x32(&top[at], &bottom[at], 4*n, plane, 4*second, &x[i*width+col], 4*width, 4*area,
				channels, &filter[0], bias)
		}
	}
	return rows
}

func fastConvolveRow(dst []float32, plane int, x []float32, n, width, area, channels int,
	filter []float32) bool {
	if active == portable || n < 8 {
		return false
	}
	_, _ = x[(channels-1)*area+4*width+n+3], dst[2*plane+n-1]
	bias := &filter[75*channels]
	step := min(n, 24) &^ 7
	if n > 24 && n <= 32 {
		step = 16 // two equal blocks
	}
	for c := 0; c < n; c += step {
		col := min(c, n-step) // the last block overlaps the one before
		switch step {
		case 8:
			convolve8(&dst[col], 4*plane, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		case 16:
			convolve16(&dst[col], 4*plane, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		default:
			convolve24(&dst[col], 4*plane, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		}
	}
	return true
}

func fastPool(y, d []float32, at []int32, top, bottom []float32, columns []int32, place *[4]int32) bool {
	lanes := 8
	if active == avx512 && len(y) >= 16 {
		lanes = 16
	}
	if active == portable || len(y) < lanes {
		return false
	}
	for i := 0; i < len(y); {
		c := min(i, len(y)-lanes) // the last block overlaps the one before
		blocks := min(len(y)-c, longest) / lanes
		if lanes == 16 {
			poolMish16(&y[c], &d[c], &at[c], &top[2*c], &bottom[2*c], &columns[c], &place[0], blocks)
		} else {
			poolMish8(&y[c], &d[c], &at[c], &top[2*c], &bottom[2*c], &columns[c], &place[0], blocks)
		}
		i = c + blocks*lanes
	}
	return true
}

func fastPatches(sums *[3][41]float32, x []float32, width int, g []float32, at []int32, n int) bool {
	switch active {
	case portable:
		return false
	case avx512:
		patchGradients5(&sums[0][0], &x[0], 4*width, &g[0], &at[0], n)
		return true
	}
	for f := range sums {
		patchGradient5(&sums[f][0], &x[0], 4*width, &g[f*n], &at[f*n], n)
	}
	return true
}

// fastLargest returns the largest of the elements it has done and their number.
func fastLargest(at []int32) (most uint32, done int) {
	if active == portable || len(at) < 8 {
		return 0, 0
	}
	return largest8(&at[0], len(at)/8), len(at) &^ 7
}

func fastInterleave(dst, src []float32, n int) int {
	if active == portable || n < 8 {
		return 0
	}
	interleave8(&dst[0], &src[0], 4*n, n/8)
	return n &^ 7
}

func fastMultiplyPlanes(dst, src []float32, n int) int {
	if active == portable || n < 8 {
		return 0
	}
	multiplyPlanes8(&dst[0], &src[0], 4*n, n/8)
	return n &^ 7
}

// fastMish returns the number of elements it has done.
func fastMish(y, d, x []float32) int {
	done := 0
	for active == avx512 && done+16 <= len(x) {
		blocks := min(len(x)-done, longest) / 16
		mish16(&y[done], &d[done], &x[done], blocks)
		done += 16 * blocks
	}
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		mish8(&y[done], &d[done], &x[done], blocks)
		done += 8 * blocks
	}
	return done
}

func fastSquares(x []float32) (sum float64, ok bool) {
	if active == portable || len(x) == 0 {
		return 0, active != portable
	}
	if len(x) <= longest {
		return sumSquares16(nil, &x[0], len(x)/16, len(x)%16), true
	}
	var lanes [16]float64
	for len(x) > 0 {
		n := min(len(x), longest)
		sum = sumSquares16(&lanes[0], &x[0], n/16, n%16)
		x = x[n:]
	}
	return sum, true
}
