package tensor

// Gather copies rows of src to dst: row i of dst becomes row rows[i] of src. While it
// copies one row it asks memory for a later one: rows from anywhere come as fast as the
// memory gives them, not as fast as it answers. It panics unless dst has len(rows) rows
// of src's length and no row is out of range.
func Gather(dst, src Mat, rows []int32) {
	if dst.Rows != len(rows) || dst.Cols != src.Cols {
		panic("tensor: Gather needs one row of equal length for each index")
	}
	ahead := 1 + 1024/max(1, src.Cols) // 4 KB
	for i, r := range rows {
		if r < 0 || int(r) >= src.Rows {
			panic("tensor: Gather of a row that its source does not have")
		}
		to, from := dst.Row(i), src.Row(int(r))
		next := from
		if later := int(rows[min(i+ahead, len(rows)-1)]); later >= 0 && later < src.Rows {
			next = src.Row(later)
		}
		done := fastCopyRow(to, from, next)
		copy(to[done:], from[done:])
	}
}

// Transpose sets dst[j*to+i] = src[i*from+j] for i < rows and j < cols. dst and src do
// not overlap. It panics where one of them is too short.
func Transpose(dst []float32, to int, src []float32, from, rows, cols int) {
	if rows < 1 || cols < 1 {
		return
	}
	dst, src = dst[:(cols-1)*to+rows], src[:(rows-1)*from+cols]
	if fastTranspose(dst, to, src, from, rows, cols) {
		return
	}
	for i := range rows {
		for j, v := range src[i*from:][:cols] {
			dst[j*to+i] = v
		}
	}
}
