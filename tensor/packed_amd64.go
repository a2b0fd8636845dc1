package tensor

// Products of which both operands are packed. That pays where each is read often.

const (
	packedN    = 512 // columns of one block of b: half a megabyte, in the second-level cache
	packedFrom = 112 // rows of dst from which that pays
	packedLow  = 12  // rows of the lowest tile of a product with as many
	packedStep = 16  // elements of a step of packed rows of a
	packedTile = packedStep * blockK
	fewTiles   = packedFrom / 14
)

// packsBoth says whether a product with these operands copies both.
func packsBoth(dst Mat, a strided) bool {
	if active != avx512 || dst.Rows < packedFrom {
		return false
	}
	return dst.Cols >= packedN || dst.Cols >= blockN && collides(a)
}

// packsRows says whether a product that leaves b in place copies the few rows of a.
func packsRows(dst Mat, a strided) bool {
	return active == avx512 && dst.Rows < packedFrom && dst.Cols >= blockN && collides(a)
}

// collides says whether what one tile reads of a falls on so few sets of the first-level
// cache, of 4 KB each way, that it does not stay there.
func collides(a strided) bool {
	if a.col == 1 {
		return a.row%1024 == 0
	}
	return a.col%64 == 0
}

// packedRows copies all rows of a, fewer than packedFrom, and leaves b in place.
func packedRows(dst Mat, a, b strided, inner int, add bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		low, more := heights(dst.Rows)
		for m, tile := 0, 0; m < dst.Rows; tile++ {
			high := low
			if tile < more {
				high++
			}
			packTile(s.rows[tile*packedTile:], a.from(m, k), high, depth)
			m += high
		}
		for n := 0; n < dst.Cols; n += blockN {
			sweep(view(dst, 0, n, dst.Rows, min(blockN, dst.Cols-n)), rows{copies: s.rows[:]},
				panels{b.from(k, n).data, b.row, 32}, depth, add || k > 0)
		}
	}
}

// rows are those of a that a sweep reads: in place, or as copies, of which there are all,
// or one that each tile makes anew.
type rows struct {
	strided
	copies []float32
}

// copied returns the copies of a tile's rows, which begin at row m.
func (r rows) copied(m, tile, high, depth int) strided {
	if r.data == nil {
		return strided{r.copies[tile*packedTile:], 1, packedStep}
	}
	packTile(r.copies, r.from(m, 0), high, depth)
	return strided{r.copies, 1, packedStep}
}

// packed512x12 to packed512x14 add the product of that many packed rows of a and panels
// of 32 packed columns of b to dst, or set it. ldc and step, the distance of panels, are
// in bytes; k and panels >= 1.
//
//go:noescape
func packed512x12(c *float32, ldc int, a, b *float32, k, step, panels int, add bool)

//go:noescape
func packed512x13(c *float32, ldc int, a, b *float32, k, step, panels int, add bool)

//go:noescape
func packed512x14(c *float32, ldc int, a, b *float32, k, step, panels int, add bool)

// packedTiles does the whole panels among dst's columns.
func packedTiles(dst Mat, a, b *float32, k, step int, add bool) {
	c, ldc, panels := &dst.Data[0], 4*dst.Stride, dst.Cols/32
	switch dst.Rows {
	case 12:
		packed512x12(c, ldc, a, b, k, step, panels, add)
	case 13:
		packed512x13(c, ldc, a, b, k, step, panels, add)
	case 14:
		packed512x14(c, ldc, a, b, k, step, panels, add)
	}
}

// spreadRow copies 32 elements to each of panels >= 1 that are step bytes apart.
//
//go:noescape
func spreadRow(dst *float32, step int, src *float32, panels int)

// sideBySide copies the elements in mask, of 16, of each of k >= 1 rows, lds bytes apart.
//
//go:noescape
func sideBySide(dst, src *float32, lds, k int, mask uint32)

// packTile copies at most 14 rows of a, depth elements each, so that they lie side by
// side.
func packTile(to []float32, a strided, rows, depth int) {
	if a.col == 1 {
		turnInto(to, packedStep, a.data, a.row, rows, depth, false)
		return
	}
	sideBySide(&to[0], &a.data[0], 4*a.col, depth, 1<<rows-1)
}
