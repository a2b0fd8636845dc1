package tensor

// SumRows is the number of rows that [WeightedSums] forms at a time.
const SumRows = 8

// WeightedSums sets columns lo to hi of each dsts[r] to those of [WeightedSum] with the
// weights weights[j*SumRows+r] of xs[j], bit for bit, and reads each x once for all rows.
// There are 1 to SumRows rows, weights of rows that are not there are 0, and no dsts[r]
// is one of xs. A weight of 0 counts as any other: it gives NaN where its x is not
// finite. It panics for other numbers of rows, when len(weights) != SumRows*len(xs), and
// where a vector has no columns lo to hi.
func WeightedSums(dsts, xs []Vec, weights []float64, lo, hi int) {
	if len(weights) != SumRows*len(xs) || len(dsts) < 1 || len(dsts) > SumRows {
		panic("tensor: WeightedSums needs 1 to SumRows rows and SumRows weights for each vector")
	}
	for _, v := range dsts {
		_ = v[lo:hi]
	}
	for _, x := range xs {
		_ = x[lo:hi]
	}
	if len(xs) > 0 {
		lo += fastWeightedSums(dsts, xs, weights, lo, hi)
	}
	for r, dst := range dsts {
		for i := lo; i < hi; i++ {
			var s float64
			for j, x := range xs {
				s += float64(weights[j*SumRows+r] * float64(x[i]))
			}
			dst[i] = float32(s)
		}
	}
}
