package tensor

import (
	"math"
	"sync"
)

// Products of matrices rounded to bfloat16, the upper half of a float32: 8 bits of
// precision, the same range. Sums are float32.
//
// There are three ways, of which a machine always uses the same one:
//
//   - AMX, Intel's tile instructions ([HasAMX]): sums go over even and odd inner indices
//     apart, each product and sum rounded to nearest, and subnormal operands, products
//     and sums count as 0.
//   - The dot product of AVX512_BF16 ([HasDotBF16]): the chains of float32 products with
//     fused multiply-add, in which subnormal operands and sums count as 0. Without
//     subnormal numbers its bits are those of the third way.
//   - Float32 products of the same operands, slower than those of float32 matrices.
//
// All are off the exact product of the rounded operands by at most (K+2) 2^-24 times the
// sum of the products' absolute values, subnormal numbers aside; their last bits differ,
// so results repeat bit for bit only where the same one is in use. As with float32
// products no element depends on the shape or position of the tile that computed it.

// MatBF16 is a row-major matrix of bfloat16: element (i, j) is Data[i*Stride+j].
type MatBF16 struct {
	Rows, Cols, Stride int
	Data               []uint16
}

// Row returns row i; it shares memory with m.
func (m MatBF16) Row(i int) []uint16 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]
}

func (m MatBF16) complete() bool {
	return m.Rows == 0 || m.Cols == 0 || m.Rows > 0 && m.Cols > 0 && m.Stride >= 0 &&
		len(m.Data) >= (m.Rows-1)*m.Stride+m.Cols
}

const quiet = 1 << 22 // marks a NaN that keeps upper bits when the lower ones go

// RoundBF16 sets dst to x rounded to nearest, ties to even. Numbers from 2^128-2^119 on
// become infinite; NaN stays NaN. The slices have one length.
func RoundBF16(dst []uint16, x []float32) {
	x = x[:len(dst)]
	for i := fastRoundBF16(dst, x); i < len(dst); i++ {
		b := math.Float32bits(x[i])
		if x[i] != x[i] {
			b |= quiet
		} else {
			b += 0x7fff + b>>16&1
		}
		dst[i] = uint16(b >> 16)
	}
}

// TruncateBF16 sets dst = f*x for 0 <= f <= 1, rounded toward zero, so that no element is
// ever larger than f times the old one, as float64 rounds that. NaN stays NaN, and
// infinite elements stay so but with f = 0, which makes them NaN. The slices have one
// length.
func TruncateBF16(dst []uint16, x []float32, f float64) {
	x = x[:len(dst)]
	var scaled [256]float32
	for len(dst) > 0 {
		n := min(len(dst), len(scaled))
		part := scaled[:n]
		copy(part, x)
		if f != 1 {
			ScaleToward(part, f)
		}
		for i := fastTruncateBF16(dst[:n], part); i < n; i++ {
			b := math.Float32bits(part[i])
			if part[i] != part[i] {
				b |= quiet
			}
			dst[i] = uint16(b >> 16)
		}
		dst, x = dst[n:], x[n:]
	}
}

// WidenBF16 sets dst to x, exactly. The slices have one length.
func WidenBF16(dst []float32, x []uint16) {
	x = x[:len(dst)]
	for i := fastWidenBF16(dst, x); i < len(dst); i++ {
		dst[i] = math.Float32frombits(uint32(x[i]) << 16)
	}
}

// HasAMX reports whether bfloat16 products use the tiles of AMX: the processor has them,
// the operating system permits them, and AVX-512 kernels are in use, which SOTTO_CPU can
// forbid.
func HasAMX() bool { return active == avx512 && tiles() }

// stridedBF16 is strided for bfloat16.
type stridedBF16 struct {
	data     []uint16
	row, col int
}

func (a stridedBF16) from(row, col int) stridedBF16 {
	return stridedBF16{a.data[row*a.row+col*a.col:], a.row, a.col}
}

// MulNN16 is MulNN of bfloat16 matrices.
func MulNN16(dst Mat, a, b MatBF16, add bool) {
	checkProductBF16(dst, a, b, dst.Rows == a.Rows && dst.Cols == b.Cols && a.Cols == b.Rows)
	productBF16(dst, stridedBF16{a.Data, a.Stride, 1}, stridedBF16{b.Data, b.Stride, 1}, a.Cols, add)
}

// MulTN16 is MulTN of bfloat16 matrices.
func MulTN16(dst Mat, a, b MatBF16, add bool) {
	checkProductBF16(dst, a, b, dst.Rows == a.Cols && dst.Cols == b.Cols && a.Rows == b.Rows)
	productBF16(dst, stridedBF16{a.Data, 1, a.Stride}, stridedBF16{b.Data, b.Stride, 1}, a.Rows, add)
}

// MulNT16 is MulNT of bfloat16 matrices.
func MulNT16(dst Mat, a, b MatBF16, add bool) {
	checkProductBF16(dst, a, b, dst.Rows == a.Rows && dst.Cols == b.Rows && a.Cols == b.Cols)
	productBF16(dst, stridedBF16{a.Data, a.Stride, 1}, stridedBF16{b.Data, 1, b.Stride}, a.Cols, add)
}

func checkProductBF16(dst Mat, a, b MatBF16, fit bool) {
	if !fit {
		panic("tensor: shapes of a matrix product do not fit")
	}
	if !dst.complete() || !a.complete() || !b.complete() {
		panic("tensor: a matrix has fewer elements than its shape needs")
	}
}

func productBF16(dst Mat, a, b stridedBF16, inner int, add bool) {
	switch {
	case dst.Rows == 0 || dst.Cols == 0:
	case inner == 0:
		product(dst, strided{row: 1, col: 1}, strided{row: 1, col: 1}, 0, add)
	case HasAMX():
		tileProduct(dst, a, b, inner, add)
	case HasDotBF16():
		dotProduct(dst, a, b, inner, add, dot512x14)
	default:
		widenedProduct(dst, a, b, inner, add)
	}
}

// widened is the memory of a block of each operand as float32.
type widened struct{ a, b [blockK * blockK]float32 }

var widenings = sync.Pool{New: func() any { return new(widened) }}

// widenedProduct is the product by float32 kernels, in blocks of 256 in every direction.
func widenedProduct(dst Mat, a, b stridedBF16, inner int, add bool) {
	w := widenings.Get().(*widened)
	defer widenings.Put(w)
	for k := 0; k < inner; k += blockK {
		depth := min(blockK, inner-k)
		for n := 0; n < dst.Cols; n += blockK {
			cols := min(blockK, dst.Cols-n)
			wb := widenBlock(w.b[:], b.from(k, n), depth, cols)
			for m := 0; m < dst.Rows; m += blockK {
				rows := min(blockK, dst.Rows-m)
				wa := widenBlock(w.a[:], a.from(m, k), rows, depth)
				part := Mat{Rows: rows, Cols: cols, Stride: dst.Stride, Data: dst.Data[m*dst.Stride+n:]}
				product(part, wa, wb, depth, add || k > 0)
			}
		}
	}
}

// widenBlock copies rows x cols elements in the order of their memory.
func widenBlock(to []float32, x stridedBF16, rows, cols int) strided {
	if x.col == 1 {
		for i := range rows {
			WidenBF16(to[i*blockK:][:cols], x.data[i*x.row:])
		}
		return strided{to, blockK, 1}
	}
	for j := range cols {
		WidenBF16(to[j*blockK:][:rows], x.data[j*x.col:])
	}
	return strided{to, 1, blockK}
}
