package tensor

// channelSums8 adds rows positions of 8 channels to 8 sums and products; stride is in
// bytes.
//
//go:noescape
func channelSums8(sums, products *float64, a, x *float32, stride, rows int)

// normalize8 is Normalize of 8*blocks channels of one position, blocks >= 1.
//
//go:noescape
func normalize8(y, x, shift, scale, offset *float32, blocks int)

// normalizeGradient8 is NormalizeGradient of 8*blocks channels of one position, blocks >=
// 1.
//
//go:noescape
func normalizeGradient8(dx, dy, x, shift, a, b, k *float32, blocks int)

// rowSquares16 sets sum to the squares of 16*blocks elements of x and of 16 of tail: 16
// interleaved sums, added by halves.
//
//go:noescape
func rowSquares16(sum *float64, x *float32, blocks int, tail *float32)

// fastRowSquares says whether it has done the work.
func fastRowSquares(dst []float64, m Mat) bool {
	if active == portable || m.Cols > longest || m.Cols == 0 || !m.complete() {
		return false
	}
	var tail [16]float32 // what is over, filled up with zeros
	whole := m.Cols &^ 15
	for i := range dst {
		row := m.Data[i*m.Stride:][:m.Cols]
		copy(tail[:], row[whole:])
		rowSquares16(&dst[i], &row[0], whole/16, &tail[0])
	}
	return true
}

// fastChannelSums returns the number of channels it has done, as do the functions below.
func fastChannelSums(sums, products []float64, a, x []float32, rows int) int {
	c := len(sums)
	if active == portable || rows == 0 {
		return 0
	}
	j := 0
	for ; j+8 <= c; j += 8 {
		for r := 0; r < rows; r += longest / 8 {
			channelSums8(&sums[j], &products[j], &a[r*c+j], &x[r*c+j], 4*c, min(longest/8, rows-r))
		}
	}
	return j
}

func fastNormalize(y, x, shift, scale, offset []float32) int {
	blocks := min(len(x), longest) / 8
	if active == portable || blocks == 0 {
		return 0
	}
	normalize8(&y[0], &x[0], &shift[0], &scale[0], &offset[0], blocks)
	return 8 * blocks
}

func fastNormalizeGradient(dx, dy, x, shift, a, b, k []float32) int {
	blocks := min(len(x), longest) / 8
	if active == portable || blocks == 0 {
		return 0
	}
	normalizeGradient8(&dx[0], &dy[0], &x[0], &shift[0], &a[0], &b[0], &k[0], blocks)
	return 8 * blocks
}
