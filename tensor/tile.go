package tensor

// The inner loops of the matrix products. Each sets its tile to products of rows of a
// with packed columns, every element one chain of rounded products and sums in ascending
// order of the inner index.

// tile2x4 multiplies two rows, each contiguous, with a packed panel of 4 columns.
func tile2x4(c *[tileRow * panelN]float32, r0, r1, panel []float32) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float32
	for len(panel) >= 4*panelN {
		b, u, v := (*[4 * panelN]float32)(panel), (*[4]float32)(r0), (*[4]float32)(r1)
		panel, r0, r1 = panel[4*panelN:], r0[4:], r1[4:]
		x, y := u[0], v[0]
		c00 += float32(x * b[0])
		c01 += float32(x * b[1])
		c02 += float32(x * b[2])
		c03 += float32(x * b[3])
		c10 += float32(y * b[0])
		c11 += float32(y * b[1])
		c12 += float32(y * b[2])
		c13 += float32(y * b[3])
		x, y = u[1], v[1]
		c00 += float32(x * b[4])
		c01 += float32(x * b[5])
		c02 += float32(x * b[6])
		c03 += float32(x * b[7])
		c10 += float32(y * b[4])
		c11 += float32(y * b[5])
		c12 += float32(y * b[6])
		c13 += float32(y * b[7])
		x, y = u[2], v[2]
		c00 += float32(x * b[8])
		c01 += float32(x * b[9])
		c02 += float32(x * b[10])
		c03 += float32(x * b[11])
		c10 += float32(y * b[8])
		c11 += float32(y * b[9])
		c12 += float32(y * b[10])
		c13 += float32(y * b[11])
		x, y = u[3], v[3]
		c00 += float32(x * b[12])
		c01 += float32(x * b[13])
		c02 += float32(x * b[14])
		c03 += float32(x * b[15])
		c10 += float32(y * b[12])
		c11 += float32(y * b[13])
		c12 += float32(y * b[14])
		c13 += float32(y * b[15])
	}
	for i := 0; len(panel) >= panelN; i++ {
		b, x, y := (*[panelN]float32)(panel), r0[i], r1[i]
		panel = panel[panelN:]
		c00 += float32(x * b[0])
		c01 += float32(x * b[1])
		c02 += float32(x * b[2])
		c03 += float32(x * b[3])
		c10 += float32(y * b[0])
		c11 += float32(y * b[1])
		c12 += float32(y * b[2])
		c13 += float32(y * b[3])
	}
	*c = [...]float32{c00, c01, c02, c03, c10, c11, c12, c13}
}

// tile4x1 multiplies four rows, row elements apart, with one packed column.
func tile4x1(c *[thinRow]float32, a []float32, row, col int, panel []float32) {
	var c0, c1, c2, c3 float32
	i := 0
	for _, b := range panel {
		c0 += float32(a[i] * b)
		c1 += float32(a[i+row] * b)
		c2 += float32(a[i+2*row] * b)
		c3 += float32(a[i+3*row] * b)
		i += col
	}
	*c = [...]float32{c0, c1, c2, c3}
}

// spinPortable runs the inner loop on operands that stay in the first-level cache.
func spinPortable(rounds int) int {
	var c [tileRow * panelN]float32
	var a [blockK]float32
	var panel [panelN * blockK]float32
	for range rounds {
		tile2x4(&c, a[:], a[:], panel[:])
	}
	return rounds * 2 * blockK * tileRow * panelN
}
