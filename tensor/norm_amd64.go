package tensor

// channelSums8 adds rows positions of 8 channels to 8 sums and products; stride is in bytes.
//
//go:noescape
func channelSums8(sums, products *float64, a, x *float32, stride, rows int)

// normalize8 is Normalize of 8*blocks channels of one position, blocks >= 1.
//
//go:noescape
func normalize8(y, x, shift, scale, offset *float32, blocks int)

// normalizeGradient8 is NormalizeGradient of 8*blocks channels of one position, blocks >= 1.
//
//go:noescape
func normalizeGradient8(dx, dy, x, shift, a, b, k *float32, blocks int)

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
