package tensor

// AddTruncated adds k*x to dst, each product rounded to float64 and then toward zero to a
// whole number. Every product must be below 2^31 in size; dst may not overflow. The
// slices have one length.
func AddTruncated(dst []int64, x []float32, k float64) {
	x = x[:len(dst)]
	for i := fastAddTruncated(dst, x, k); i < len(dst); i++ {
		dst[i] += int64(k * float64(x[i]))
	}
}
