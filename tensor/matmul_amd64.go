package tensor

// Products by the tiles of tiles_amd64.s. A tile reads rows of a through any strides and rows of b that are contiguous; b's
// columns and the swapped form below go through a transposed copy. The chain of every element is that of matmul.go with each
// multiply and add fused, on every tile of both instruction sets.

const (
	wide     = 32 // columns of a tile of two AVX-512 vectors, and of a packed panel
	packFrom = 96 // rows of a from which a copy of b's panel pays
	sumRows  = 56 // rows of b of one block of the swapped form
)

// fastProduct is product by assembly; false: not done.
func fastProduct(dst Mat, a, b strided, inner int, add bool) bool {
	if active == portable || inner == 0 || dst.Rows == 0 || dst.Cols == 0 {
		return false
	}
	switch {
	case dst.Cols == 1 && dst.Rows > 1 && dst.Stride == 1:
		// A column is a row of the transposed product bᵀ*aᵀ.
		dst = Mat{Rows: 1, Cols: dst.Rows, Stride: dst.Rows, Data: dst.Data}
		a, b = strided{b.data, b.col, b.row}, strided{a.data, a.col, a.row}
	case b.col != 1 && dst.Rows < inner && dst.Rows >= 8:
		withPanel(swappedProduct, dst, a, b, inner, add)
		return true
	}
	switch {
	case b.col != 1 || dst.Rows >= packFrom && b.row != wide:
		withPanel(packedProduct, dst, a, b, inner, add)
	default:
		for k := 0; k < inner; k += blockK {
			depth := min(blockK, inner-k)
			for n := 0; n < dst.Cols; n += wide {
				cols := min(wide, dst.Cols-n)
				sweep(view(dst, 0, n, dst.Rows, cols), a.from(0, k), b.data[k*b.row+n:], b.row, depth, add || k > 0)
			}
		}
	}
	return true
}

// from returns the part of a that begins at (row, col).
func (a strided) from(row, col int) strided {
	return strided{a.data[row*a.row+col*a.col:], a.row, a.col}
}

func view(m Mat, row, col, rows, cols int) Mat {
	return Mat{Rows: rows, Cols: cols, Stride: m.Stride, Data: m.Data[row*m.Stride+col:]}
}

// form is a way to compute a product with a panel.
type form bool

const (
	packedProduct  form = false
	swappedProduct form = true
)

func (f form) run(panel []float32, dst Mat, a, b strided, inner int, add bool) {
	if f == swappedProduct {
		swapped(panel, dst, a, b, inner, add)
	} else {
		packed(panel, dst, a, b, inner, add)
	}
}

// withPanel runs f with a panel of min(inner, 256) x 32. Go clears a panel on the stack, which would take longer than a
// small product, so there are three sizes.
func withPanel(f form, dst Mat, a, b strided, inner int, add bool) {
	switch depth := min(inner, blockK); {
	case depth <= blockK/8:
		withSmall(f, dst, a, b, inner, add)
	case depth <= blockK/2:
		withMedium(f, dst, a, b, inner, add)
	default:
		withLarge(f, dst, a, b, inner, add)
	}
}

//go:noinline
func withSmall(f form, dst Mat, a, b strided, inner int, add bool) {
	var panel [blockK / 8 * wide]float32
	f.run(panel[:], dst, a, b, inner, add)
}

//go:noinline
func withMedium(f form, dst Mat, a, b strided, inner int, add bool) {
	var panel [blockK / 2 * wide]float32
	f.run(panel[:], dst, a, b, inner, add)
}

//go:noinline
func withLarge(f form, dst Mat, a, b strided, inner int, add bool) {
	var panel [blockK * wide]float32
	f.run(panel[:], dst, a, b, inner, add)
}

// packed copies a panel of b at a time, and all rows of a meet it.
func packed(panel []float32, dst Mat, a, b strided, inner int, add bool) {
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		for n := 0; n < dst.Cols; n += wide {
			cols := min(wide, dst.Cols-n)
			from := b.from(k, n).data
			if b.col != 1 {
				turnInto(panel, wide, from, b.col, cols, depth, false)
			} else {
				for i := range depth {
					copy(panel[i*wide:][:cols], from[i*b.row:])
				}
			}
			sweep(view(dst, 0, n, dst.Rows, cols), a.from(0, k), panel, wide, depth, add || k > 0)
		}
	}
}

// swapped computes a*bᵀ as the transpose of b*aᵀ, which copies a and dst instead of b.
func swapped(panel []float32, dst Mat, a, b strided, inner int, add bool) {
	var sums [sumRows * wide]float32
	turned := strided{b.data, b.col, b.row}
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		for m := 0; m < dst.Rows; m += wide {
			rows := min(wide, dst.Rows-m)
			if a.col == 1 {
				turnInto(panel, wide, a.from(m, k).data, a.row, rows, depth, false)
			} else {
				for i := range depth {
					copy(panel[i*wide:][:rows], a.from(m, k+i).data)
				}
			}
			for n := 0; n < dst.Cols; n += sumRows {
				cols := min(sumRows, dst.Cols-n)
				sweep(Mat{Rows: cols, Cols: rows, Stride: wide, Data: sums[:]}, turned.from(n, k), panel, wide, depth, false)
				turnInto(dst.Data[m*dst.Stride+n:], dst.Stride, sums[:], wide, cols, rows, add || k > 0)
			}
		}
	}
}

// sweep computes the at most 32 columns of dst from depth <= 256 rows of b, in tiles of nearly equal height.
func sweep(dst Mat, a strided, b []float32, ldb, depth int, add bool) {
	high := 6
	if active == avx512 {
		high = 14
	}
	tiles := (dst.Rows + high - 1) / high
	for t, m := 0, 0; t < tiles; t++ {
		rows := (dst.Rows - m + tiles - t - 1) / (tiles - t)
		if active == avx512 {
			rowTiles512(dst, m, rows, a, b, ldb, depth, add)
		} else {
			rowTiles256(dst, m, rows, a, b, ldb, depth, add)
		}
		m += rows
	}
}

func rowTiles512(dst Mat, m, rows int, a strided, b []float32, ldb, depth int, add bool) {
	c, x := &dst.Data[m*dst.Stride], &a.data[m*a.row]
	n := 0
	if dst.Cols == wide {
		tile512v2(rows, c, 4*dst.Stride, x, 4*a.row, 4*a.col, &b[0], 4*ldb, depth, 0, add)
		return
	}
	for ; n < dst.Cols; n += 16 {
		mask := uint32(1<<min(16, dst.Cols-n) - 1)
		tile512v1(rows, &dst.Data[m*dst.Stride+n], 4*dst.Stride, x, 4*a.row, 4*a.col, &b[n], 4*ldb, depth, mask, add)
	}
}

func rowTiles256(dst Mat, m, rows int, a strided, b []float32, ldb, depth int, add bool) {
	x := &a.data[m*a.row]
	n := 0
	for ; n+16 <= dst.Cols; n += 16 {
		tile256v2(rows, &dst.Data[m*dst.Stride+n], 4*dst.Stride, x, 4*a.row, 4*a.col, &b[n], 4*ldb, depth, 0, add)
	}
	for ; n < dst.Cols; n += 8 {
		mask := uint32(32 - 4*min(8, dst.Cols-n)) // where the table has that many set words left
		tile256v1(rows, &dst.Data[m*dst.Stride+n], 4*dst.Stride, x, 4*a.row, 4*a.col, &b[n], 4*ldb, depth, mask, add)
	}
}

// turnInto sets dst[j*ldd+i] = src[i*lds+j], or adds, for i < rows and j < cols.
func turnInto(dst []float32, ldd int, src []float32, lds, rows, cols int, add bool) {
	i := 0
	for ; i+8 <= rows; i += 8 {
		j := cols &^ 7
		switch {
		case j == 0:
		case add:
			transposeAdd8(&dst[i], 4*ldd, &src[i*lds], 4*lds, j/8)
		default:
			transpose8(&dst[i], 4*ldd, &src[i*lds], 4*lds, j/8)
		}
		turnEdge(dst, ldd, src, lds, i, i+8, j, cols, add)
	}
	turnEdge(dst, ldd, src, lds, i, rows, 0, cols, add)
}

func turnEdge(dst []float32, ldd int, src []float32, lds, row, rows, col, cols int, add bool) {
	for i := row; i < rows; i++ {
		for j := col; j < cols; j++ {
			if v := src[i*lds+j]; add {
				dst[j*ldd+i] += v
			} else {
				dst[j*ldd+i] = v
			}
		}
	}
}
