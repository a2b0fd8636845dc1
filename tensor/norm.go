package tensor

// Kernels of normalisation over the positions of an image: its rows are positions,
// len(x)/channels of them, its columns channels.

// positions is how many rows of c channels n elements are.
func positions(n, c int) int {
	if c == 0 || n%c != 0 {
		panic("tensor: an image needs whole positions of at least one channel")
	}
	return n / c
}

// ChannelSums sets, for each channel, sums to the sum of a and products to that of a*x
// over the positions in order, in float64. It panics when lengths do not fit.
func ChannelSums(sums, products []float64, a, x []float32) {
	c := len(sums)
	rows := positions(len(x), c)
	a, products = a[:len(x)], products[:c]
	clear(sums)
	clear(products)
	done := fastChannelSums(sums, products, a, x, rows)
	if done == c {
		return
	}
	for r := range rows {
		for j := done; j < c; j++ {
			v := float64(a[r*c+j])
			sums[j] += v
			products[j] += float64(v * float64(x[r*c+j]))
		}
	}
}

// Normalize sets y = (x-shift)*scale + offset with the last three by channel. y may be x.
// It panics when lengths do not fit.
func Normalize(y, x, shift, scale, offset []float32) {
	c := len(shift)
	rows := positions(len(x), c)
	y, scale, offset = y[:len(x)], scale[:c], offset[:c]
	for r := range rows {
		in, out := x[r*c:][:c], y[r*c:][:c]
		for j := fastNormalize(out, in, shift, scale, offset); j < c; j++ {
			out[j] = float32((in[j]-shift[j])*scale[j]) + offset[j]
		}
	}
}

// NormalizeGradient sets dx = dy*a + (x-shift)*b + k with shift, a, b and k by channel.
// dx may be dy. It panics when lengths do not fit.
func NormalizeGradient(dx, dy, x, shift, a, b, k []float32) {
	c := len(shift)
	rows := positions(len(x), c)
	dx, dy, a, b, k = dx[:len(x)], dy[:len(x)], a[:c], b[:c], k[:c]
	for r := range rows {
		in, out, g := x[r*c:][:c], dx[r*c:][:c], dy[r*c:][:c]
		for j := fastNormalizeGradient(out, g, in, shift, a, b, k); j < c; j++ {
			out[j] = float32(g[j]*a[j]) + float32((in[j]-shift[j])*b[j]) + k[j]
		}
	}
}

// RowSquares sets dst[i] to SumSquares of row i of m, with the same bits.
func RowSquares(dst []float64, m Mat) {
	dst = dst[:m.Rows]
	if m.Cols == 1 {
		for i := range dst {
			v := float64(m.Data[i*m.Stride])
			dst[i] = v * v
		}
		return
	}
	if fastRowSquares(dst, m) {
		return
	}
	for i := range dst {
		dst[i] = SumSquares(m.Row(i))
	}
}
