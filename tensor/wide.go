package tensor

// AddWide adds x to dst, in double precision. It panics if x is longer than dst.
func AddWide(dst []float64, x Vec) {
	dst = dst[:len(x)]
	for i := fastAddWide(dst, x); i < len(x); i++ {
		dst[i] += float64(x[i])
	}
}
