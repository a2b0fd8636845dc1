package tensor

// sumRows512 forms 16*blocks columns of eight rows, from a byte offset on; terms and
// blocks are at least 1. Where a row occurs twice the first one stays.
//
//go:noescape
func sumRows512(dsts, xs *Vec, weights *float64, terms, offset, blocks int)

// sumRows256 is sumRows512 of 8*blocks columns of four rows, whose weights are eight
// apart.
//
//go:noescape
func sumRows256(dsts, xs *Vec, weights *float64, terms, offset, blocks int)

func fastWeightedSums(dsts, xs []Vec, weights []float64, lo, hi int) int {
	if active == portable {
		return 0
	}
	var rows [SumRows]Vec
	for r := range rows {
		if r < len(dsts) {
			rows[r] = dsts[r]
		} else {
			rows[r] = dsts[0]
		}
	}
	columns := 8
	if active == avx512 {
		columns = 16
	}
	most, done := max(1, longest/len(xs)/2), 0
	for lo+done+columns <= hi {
		blocks := min((hi-lo-done)/columns, most)
		if offset := 4 * (lo + done); active == avx512 {
			sumRows512(&rows[0], &xs[0], &weights[0], len(xs), offset, blocks)
		} else {
			sumRows256(&rows[4], &xs[0], &weights[4], len(xs), offset, blocks)
			sumRows256(&rows[0], &xs[0], &weights[0], len(xs), offset, blocks)
		}
		done += columns * blocks
	}
	return done
}
