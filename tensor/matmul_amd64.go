package tensor

import "sync"

// Products by the tiles of tiles_amd64.s. A tile reads rows of a through any strides and
// rows of b that are contiguous, in place where they are; columns of b and the swapped
// form below go through a transposed copy. The chain of every element is that of
// matmul.go with each multiply and add fused, on every tile of both instruction sets.

const (
	blockN   = 256 // columns of one call of a tile, which takes a few microseconds
	swapRows = 64  // rows of dst of one block of the swapped form
	// rows of dst from which a copy of b pays where its rows fall on the same sets of the
	// cache
	copyFrom = 256
	setRows  = 512 // a row stride that is a multiple of this many elements does so
)

// grid returns the rows and columns of the tile of the kernels in use.
func grid() (high, width int) {
	if active == avx512 {
		return 14, 32
	}
	return 6, 16
}

// fastProduct is product by assembly; false: not done.
func fastProduct(dst Mat, a, b strided, inner int, add bool) bool {
	if active == portable || inner == 0 || dst.Rows == 0 || dst.Cols == 0 {
		return false
	}
	if dst.Cols == 1 && dst.Rows > 1 && dst.Stride == 1 {
		// A column is a row of the transposed product bᵀ*aᵀ.
		dst = Mat{Rows: 1, Cols: dst.Rows, Stride: dst.Rows, Data: dst.Data}
		a, b = strided{b.data, b.col, b.row}, strided{a.data, a.col, a.row}
	}
	_, width := grid()
	few := b.col == 1 && dst.Cols < width && dst.Rows >= width
	switch {
	case few && a.row == 1:
		thin(dst, a, b, inner, add)
	case few && dst.Cols%(width/2) != 0:
		swapped(dst, a, b, inner, add) // as full vectors, which pays for the transposed copy
	case packsBoth(dst, a):
		packed(dst, a, b, inner, packedN, true, add)
	case b.col != 1 && dst.Rows >= 8 && dst.Rows < min(inner, blockK):
		swapped(dst, a, b, inner, add)
	case b.col != 1 || dst.Rows >= copyFrom && b.row%setRows == 0:
		packed(dst, a, b, inner, blockN, false, add)
	case packsRows(dst, a):
		packedRows(dst, a, b, inner, add)
	default:
		for k := 0; k < inner; k += blockK {
			depth := min(blockK, inner-k)
			for n := 0; n < dst.Cols; n += blockN {
				part := view(dst, 0, n, dst.Rows, min(blockN, dst.Cols-n))
				sweep(part, rows{strided: a.from(0, k)}, panels{b.from(k, n).data, b.row, width}, depth,
					add || k > 0)
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

// panels are blocks of columns of b as wide as a tile, the last one less: rows are row
// elements apart, panels step.
type panels struct {
	data      []float32
	row, step int
}

// scratch is the memory of one product: it is reused, because Go would clear it on a
// stack, which takes longer than a small product.
type scratch struct {
	panels [packedN*blockK + setPad*packedN/16]float32
	sums   [56 * swapRows]float32
	rows   [fewTiles * packedTile]float32
}

// setPad keeps panels apart by a line of the cache, so that they do not fall on the same
// sets.
const setPad = 16

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// packed copies a block of b, at most wide columns, into panels, and all rows of a meet
// it, copied too where both is true.
func packed(dst Mat, a, b strided, inner, wide int, both, add bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		r := rows{strided: a.from(0, k)}
		if both {
			r.copies = s.rows[:packedTile]
		}
		for n := 0; n < dst.Cols; n += wide {
			cols := min(wide, dst.Cols-n)
			sweep(view(dst, 0, n, dst.Rows, cols), r, s.pack(b.from(k, n), depth, cols), depth, add || k > 0)
		}
	}
}

// pack copies depth x cols elements of b.
func (s *scratch) pack(b strided, depth, cols int) panels {
	_, width := grid()
	p := panels{s.panels[:], width, depth*width + setPad}
	if b.col != 1 {
		for n := 0; n < cols; n += width {
			turnInto(p.data[n/width*p.step:], width, b.data[n*b.col:], b.col, min(width, cols-n), depth,
				false)
		}
		return p
	}
	for i := range depth {
		from, n := b.data[i*b.row:], 0
		if count := cols / 32; count > 0 && active == avx512 {
			spreadRow(&p.data[i*32], 4*p.step, &from[0], count)
			n = 32 * count
		}
		for ; n < cols; n += width {
			copy(p.data[n/width*p.step+i*width:], from[n:min(n+width, cols)])
		}
	}
	return p
}

// swapped computes a*b as the transpose of bᵀ*aᵀ, which copies a and dst instead of b.
func swapped(dst Mat, a, b strided, inner int, add bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	tile, _ := grid()
	step := len(s.sums) / swapRows / tile &^ 3 * tile // whole tiles, and whole blocks of 8 for the transpose
	turned := strided{b.data, b.col, b.row}
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		for m := 0; m < dst.Rows; m += swapRows {
			high := min(swapRows, dst.Rows-m)
			p := s.pack(strided{a.from(m, k).data, a.col, a.row}, depth, high)
			for n := 0; n < dst.Cols; n += step {
				cols := min(step, dst.Cols-n)
				sweep(Mat{Rows: cols, Cols: high, Stride: swapRows, Data: s.sums[:]},
					rows{strided: turned.from(n, k)}, p, depth, false)
				turnInto(dst.Data[m*dst.Stride+n:], dst.Stride, s.sums[:], swapRows, cols, high, add || k > 0)
			}
		}
	}
}

// thin computes aᵀ*b of few columns as the transpose of bᵀ*a: vectors along the rows of a
// are full where those along the rows of b would not be, and serve more multiply-adds.
func thin(dst Mat, a, b strided, inner int, add bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	_, width := grid()
	step := len(s.sums) / dst.Cols &^ (width - 1)
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		turned := strided{b.from(k, 0).data, 1, b.row}
		for m := 0; m < dst.Rows; m += step {
			cols := min(step, dst.Rows-m)
			sweep(Mat{Rows: dst.Cols, Cols: cols, Stride: step, Data: s.sums[:]}, rows{strided: turned},
				panels{a.from(m, k).data, a.col, width}, depth, false)
			turnInto(dst.Data[m*dst.Stride:], dst.Stride, s.sums[:], step, dst.Cols, cols, add || k > 0)
		}
	}
}

// sweep computes a block of dst's columns from depth <= 256 rows of b, in rows of tiles
// of nearly equal height. A row of tiles reads its rows of a from the first-level cache
// after the first tile, and b from the second.
func sweep(dst Mat, a rows, b panels, depth int, add bool) {
	low, more := heights(dst.Rows)
	for m, tile := 0, 0; m < dst.Rows; tile++ {
		high := low
		if tile < more {
			high++
		}
		from := a.strided
		if a.copies != nil {
			from = a.copied(m, tile, high, depth)
		} else {
			from.data = from.data[m*a.row:]
		}
		if part := view(dst, m, 0, high, dst.Cols); active == avx512 {
			rowTiles512(part, from, b, depth, add)
		} else {
			rowTiles256(part, from, b, depth, add)
		}
		m += high
	}
}

// heights returns the rows of the tiles that share rows as equally as they can; the first
// more have one more.
func heights(rows int) (low, more int) {
	high, _ := grid()
	tiles := (rows + high - 1) / high
	return rows / tiles, rows % tiles
}

func rowTiles512(dst Mat, a strided, b panels, depth int, add bool) {
	c, x := 4*dst.Stride, &a.data[0]
	count := dst.Cols / 32
	switch {
	case count > 0 && a.row == 1 && a.col == packedStep && b.row == 32 && dst.Rows >= packedLow:
		packedTiles(dst, x, &b.data[0], depth, 4*b.step, add)
	case count > 0:
		tile512v2(dst.Rows, &dst.Data[0], c, x, 4*a.row, 4*a.col, &b.data[0], 4*b.row, depth, count, 4*b.step,
			0, add)
	}
	for n, at := 32*count, count*b.step; n < dst.Cols; n, at = n+16, at+16 {
		mask := uint32(1<<min(16, dst.Cols-n) - 1)
		tile512v1(dst.Rows, &dst.Data[n], c, x, 4*a.row, 4*a.col, &b.data[at], 4*b.row, depth, 1, 0, mask,
			add)
	}
}

func rowTiles256(dst Mat, a strided, b panels, depth int, add bool) {
	c, x := 4*dst.Stride, &a.data[0]
	count := dst.Cols / 16
	if count > 0 {
		tile256v2(dst.Rows, &dst.Data[0], c, x, 4*a.row, 4*a.col, &b.data[0], 4*b.row, depth, count, 4*b.step,
			0, add)
	}
	for n, at := 16*count, count*b.step; n < dst.Cols; n, at = n+8, at+8 {
		mask := uint32(32 - 4*min(8, dst.Cols-n)) // where the table has that many set words left
		tile256v1(dst.Rows, &dst.Data[n], c, x, 4*a.row, 4*a.col, &b.data[at], 4*b.row, depth, 1, 0, mask,
			add)
	}
}

// turnInto sets dst[j*ldd+i] = src[i*lds+j], or adds, for i < rows and j < cols. Blocks
// of 8x8 that are copied may overlap.
func turnInto(dst []float32, ldd int, src []float32, lds, rows, cols int, add bool) {
	strips, blocks := rows/8, cols/8
	switch {
	case strips == 0 || blocks == 0:
		turnEdge(dst, ldd, src, lds, 0, rows, 0, cols, add)
	case add:
		transposeAdd8(&dst[0], 4*ldd, &src[0], 4*lds, strips, blocks)
		turnEdge(dst, ldd, src, lds, 0, 8*strips, 8*blocks, cols, add)
		turnEdge(dst, ldd, src, lds, 8*strips, rows, 0, cols, add)
	default:
		transpose8(&dst[0], 4*ldd, &src[0], 4*lds, strips, blocks)
		i, j := rows-8, cols-8
		if cols%8 != 0 {
			transpose8(&dst[j*ldd], 4*ldd, &src[j], 4*lds, strips, 1)
		}
		if rows%8 != 0 {
			transpose8(&dst[i], 4*ldd, &src[i*lds], 4*lds, 1, blocks)
		}
		if cols%8 != 0 && rows%8 != 0 {
			transpose8(&dst[j*ldd+i], 4*ldd, &src[i*lds+j], 4*lds, 1, 1)
		}
	}
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
