package tensor

// These kernels use 8 lanes on both instruction sets: they have the same bits because they are the same.

// The functions here return false, or 0, where the caller must do the work.

func fastConvolve(dst, x []float32, width, area, channels int, filter []float32) bool {
	n := len(dst) / 3
	if active == portable || n < 8 {
		return false
	}
	_ = x[(channels-1)*area+4*width+n+3]
	bias := &filter[75*channels]
	step := min(n, 24) &^ 7
	if n > 24 && n <= 32 {
		step = 16 // two equal blocks
	}
	for c := 0; c < n; c += step {
		col := min(c, n-step) // the last block overlaps the one before
		switch step {
		case 8:
			convolve8(&dst[col], 4*n, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		case 16:
			convolve16(&dst[col], 4*n, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		default:
			convolve24(&dst[col], 4*n, &x[col], 4*width, 4*area, channels, &filter[0], bias)
		}
	}
	return true
}

func fastPool(y, d []float32, at []int32, top, bottom []float32, columns []int32, place *[4]int32) bool {
	if active == portable || len(y) < 8 {
		return false
	}
	for i := 0; i < len(y); i += 8 {
		c := min(i, len(y)-8)
		poolMish8(&y[c], &d[c], &at[c], &top[2*c], &bottom[2*c], &columns[c], &place[0])
	}
	return true
}

func fastPatches(sums *[41]float32, x []float32, width int, g []float32, at []int32, n int) bool {
	if active == portable {
		return false
	}
	patchGradient5(&sums[0], &x[0], 4*width, &g[0], &at[0], n)
	return true
}

// fastMish returns the number of elements it has done.
func fastMish(y, d, x []float32) int {
	done := 0
	for active != portable && done+8 <= len(x) {
		blocks := min(len(x)-done, longest) / 8
		mish8(&y[done], &d[done], &x[done], blocks)
		done += 8 * blocks
	}
	return done
}

func fastSquares(x []float32) (sum float64, ok bool) {
	if active == portable {
		return 0, false
	}
	var lanes [16]float64
	for len(x) >= 16 {
		n := min(len(x), longest) &^ 15
		sumSquares16(&lanes[0], &x[0], n/16)
		x = x[n:]
	}
	for i, v := range x {
		lanes[i] += float64(v) * float64(v)
	}
	for half := 8; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return lanes[0], true
}
