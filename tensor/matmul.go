package tensor

// Matrix products of row-major float32 matrices.
//
// Every element of a product is one chain of float32 multiply-adds in ascending order of
// the inner index, cut into blocks of 256: a block's chain starts at zero and is added to
// the element. Assembly fuses each multiply-add (one rounding), on AVX-512 and AVX2
// alike; the Go code of this file rounds twice. No element depends on the shape or
// position of the tile that computed it, so row i of a product has the same bits whatever
// other rows are there.

const (
	blockK  = 256 // inner indices of one block: a panel of 4 columns is 4 KiB
	panelN  = 4   // columns of one panel
	chunkM  = 96  // rows of one block, so that the rows read by all panels stay in cache
	tileRow = 2   // rows of one tile of a full panel
	thinRow = 4   // rows of one tile of a single column

	scratchTN = 16 * blockK // elements of a that MulTN transposes at a time: 16 KiB
)

// strided reads a matrix through a row and a column stride, one of which is 1: a
// transpose is free.
type strided struct {
	data     []float32
	row, col int
}

// MulNN sets dst = a*b, or dst += a*b when add is true. a is M x K, b is K x N, dst is M
// x N and overlaps neither. It panics when the shapes do not fit.
func MulNN(dst, a, b Mat, add bool) {
	checkProduct(dst, a, b, dst.Rows == a.Rows && dst.Cols == b.Cols && a.Cols == b.Rows)
	product(dst, strided{a.Data, a.Stride, 1}, strided{b.Data, b.Stride, 1}, a.Cols, add)
}

// MulTN sets dst = aᵀ*b, or dst += aᵀ*b when add is true. a is K x M, b is K x N, dst is
// M x N and overlaps neither. It panics when the shapes do not fit.
func MulTN(dst, a, b Mat, add bool) {
	checkProduct(dst, a, b, dst.Rows == a.Cols && dst.Cols == b.Cols && a.Rows == b.Rows)
	product(dst, strided{a.Data, 1, a.Stride}, strided{b.Data, b.Stride, 1}, a.Rows, add)
}

// MulNT sets dst = a*bᵀ, or dst += a*bᵀ when add is true. a is M x K, b is N x K, dst is
// M x N and overlaps neither. It panics when the shapes do not fit.
func MulNT(dst, a, b Mat, add bool) {
	checkProduct(dst, a, b, dst.Rows == a.Rows && dst.Cols == b.Rows && a.Cols == b.Cols)
	product(dst, strided{a.Data, a.Stride, 1}, strided{b.Data, 1, b.Stride}, a.Cols, add)
}

// checkProduct panics where a kernel would read or write outside a matrix.
func checkProduct(dst, a, b Mat, fit bool) {
	if !fit {
		panic("tensor: shapes of a matrix product do not fit")
	}
	if !dst.complete() || !a.complete() || !b.complete() {
		panic("tensor: a matrix has fewer elements than its shape needs")
	}
}

// complete reports whether Data holds every element.
func (m Mat) complete() bool {
	return m.Rows == 0 || m.Cols == 0 || m.Rows > 0 && m.Cols > 0 && m.Stride >= 0 &&
		len(m.Data) >= (m.Rows-1)*m.Stride+m.Cols
}

// product chooses between assembly and Go.
func product(dst Mat, a, b strided, inner int, add bool) {
	if fastProduct(dst, a, b, inner, add) {
		return
	}
	if a.col == 1 {
		portableProduct(dst, a, b, inner, add, nil)
		return
	}
	var scratch [scratchTN]float32
	portableProduct(dst, a, b, inner, add, scratch[:])
}

// portableProduct runs the blocks: rows outermost, then inner index, then panels of
// columns. scratch is needed where rows of a are not contiguous.
func portableProduct(dst Mat, a, b strided, inner int, add bool, scratch []float32) {
	if !add {
		for i := range dst.Rows {
			dst.Row(i).Zero()
		}
	}
	var panel [panelN * blockK]float32
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		step := chunkM
		if a.col != 1 {
			step = min(chunkM, len(scratch)/depth)
		}
		for m := 0; m < dst.Rows; m += step {
			rows := min(step, dst.Rows-m)
			block := strided{a.data[m*a.row+k*a.col:], a.row, a.col}
			n := 0
			if wide := block; dst.Cols >= panelN {
				if a.col != 1 {
					wide = packRows(scratch, block, rows, depth)
				}
				for ; n+panelN <= dst.Cols; n += panelN {
					pack4(panel[:panelN*depth], b, k, n)
					panelProduct(dst, m, n, rows, wide, panel[:panelN*depth])
				}
			}
			for ; n < dst.Cols; n++ {
				pack1(panel[:depth], b, k, n)
				columnProduct(dst, m, n, rows, block, panel[:depth])
			}
		}
	}
}

// packRows copies rows x depth elements of a into scratch, so that rows are contiguous.
func packRows(scratch []float32, a strided, rows, depth int) strided {
	for r := range rows {
		to := scratch[r*depth : (r+1)*depth]
		from := a.data[r*a.row:]
		for k, p := 0, 0; k < len(to); k, p = k+1, p+a.col {
			to[k] = from[p]
		}
	}
	return strided{scratch, depth, 1}
}

// pack4 copies 4 columns of b from (k, n) on, interleaved.
func pack4(panel []float32, b strided, k, n int) {
	if b.col == 1 {
		src := b.data[k*b.row+n:]
		for i := 0; i < len(panel); i += panelN {
			copy(panel[i:i+panelN], src[:panelN])
			if i+panelN < len(panel) {
				src = src[b.row:]
			}
		}
		return
	}
	for j := range panelN {
		src := b.data[k*b.row+(n+j)*b.col:]
		for i, p := j, 0; i < len(panel); i, p = i+panelN, p+b.row {
			panel[i] = src[p]
		}
	}
}

// pack1 copies one column of b from (k, n) on.
func pack1(panel []float32, b strided, k, n int) {
	src := b.data[k*b.row+n*b.col:]
	for i, p := 0, 0; i < len(panel); i, p = i+1, p+b.row {
		panel[i] = src[p]
	}
}

// panelProduct adds rows x 4 elements of the product to dst at (m, n). An odd last row is
// computed twice and written once.
func panelProduct(dst Mat, m, n, rows int, a strided, panel []float32) {
	var c [tileRow * panelN]float32
	for i := 0; i < rows; i += tileRow {
		r0 := a.data[i*a.row:]
		r1 := r0
		if i+1 < rows {
			r1 = r0[a.row:]
		}
		tile2x4(&c, r0, r1, panel)
		d := dst.Data[(m+i)*dst.Stride+n:]
		d0 := (*[panelN]float32)(d)
		d0[0] += c[0]
		d0[1] += c[1]
		d0[2] += c[2]
		d0[3] += c[3]
		if i+1 == rows {
			break
		}
		d1 := (*[panelN]float32)(d[dst.Stride:])
		d1[0] += c[4]
		d1[1] += c[5]
		d1[2] += c[6]
		d1[3] += c[7]
	}
}

// columnProduct adds rows x 1 elements of the product to dst at (m, n).
func columnProduct(dst Mat, m, n, rows int, a strided, panel []float32) {
	var c [thinRow]float32
	i := 0
	for ; i+thinRow <= rows; i += thinRow {
		tile4x1(&c, a.data[i*a.row:], a.row, a.col, panel)
		for r := range thinRow {
			dst.Data[(m+i+r)*dst.Stride+n] += c[r]
		}
	}
	for ; i < rows; i++ {
		tile4x1(&c, a.data[i*a.row:], 0, a.col, panel)
		dst.Data[(m+i)*dst.Stride+n] += c[0]
	}
}
