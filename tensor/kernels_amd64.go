package tensor

import "golang.org/x/sys/cpu"

// supported returns the best set of kernels for this processor and operating system.
func supported() level {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return portable
}

// transpose8 writes rows of src as columns of dst: dst[j*ldd+i] = src[i*lds+j] for i <
// 8*strips, j < 8*blocks. Strides are in bytes; strips and blocks >= 1.
//
//go:noescape
func transpose8(dst *float32, ldd int, src *float32, lds, strips, blocks int)

// transposeAdd8 is transpose8 that adds to dst.
//
//go:noescape
func transposeAdd8(dst *float32, ldd int, src *float32, lds, strips, blocks int)

func peak512(rounds int)
func peak256(rounds int)

// SpinFMA does rounds > 0 rounds of independent multiply-adds on registers alone, with
// the kernels in use, and returns the number of floating-point operations (two for each
// multiply-add). Timed, it measures what the best product could reach. A million rounds
// take milliseconds that no garbage collection can interrupt.
func SpinFMA(rounds int) int {
	switch active {
	case avx512:
		peak512(rounds)
		return rounds * 24 * 16 * 2
	case avx2:
		peak256(rounds)
		return rounds * 24 * 8 * 2
	}
	return spinPortable(rounds)
}

// mish8 and mish16 are Mishes of 8*blocks and 16*blocks elements, blocks >= 1.
//
//go:noescape
func mish8(y, d, x *float32, blocks int)

//go:noescape
func mish16(y, d, x *float32, blocks int)

// poolMish8 and poolMish16 are PoolMish of 8*blocks and 16*blocks cells, blocks >= 1.
// place holds what is added to columns for each of a cell's four positions.
//
//go:noescape
func poolMish8(y, d *float32, at *int32, top, bottom *float32, columns, place *int32, blocks int)

//go:noescape
func poolMish16(y, d *float32, at *int32, top, bottom *float32, columns, place *int32, blocks int)

// convolve8, convolve16 and convolve24 are a row of Convolve5 of that many positions;
// plane, width and area are in bytes.
//
//go:noescape
func convolve8(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

//go:noescape
func convolve16(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

//go:noescape
func convolve24(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

// convolve4x32 is Convolve5 of four rows of 16 positions and of 16 that begin second
// further on; row is the distance of two rows of top or bottom. All distances are in
// bytes.
//
//go:noescape
func convolve4x32(top, bottom *float32, row, plane, second int, x *float32, width, area, channels int, filter,
	bias *float32)

// patchGradient5 is one plane of PatchGradients5 with n >= 1 cells, patchGradients5 all
// three; width is in bytes.
//
//go:noescape
func patchGradient5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)

//go:noescape
func patchGradients5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)

// largest8 returns the largest of 8*blocks numbers, blocks >= 1, read as unsigned.
//
//go:noescape
func largest8(x *int32, blocks int) uint32

// interleave8 and multiplyPlanes8 are Interleave3 and MultiplyPlanes3 of 8*blocks
// elements of each plane, blocks >= 1; planes are plane bytes apart.
//
//go:noescape
func interleave8(dst, src *float32, plane, blocks int)

//go:noescape
func multiplyPlanes8(dst, src *float32, plane, blocks int)

// sumSquares16 adds the squares of elements j, j+16, ... of 16*blocks+more to lane j,
// more < 16, and returns the sum of the lanes. Without lanes they begin at 0.
//
//go:noescape
func sumSquares16(lanes *float64, x *float32, blocks, more int) float64

// transposeRows is how many rows are transposed at a time: a call takes microseconds.
const transposeRows = 64

func fastTranspose(dst []float32, to int, src []float32, from, rows, cols int) bool {
	if active == portable {
		return false
	}
	for i := 0; i < rows; i += transposeRows {
		turnInto(dst[i:], to, src[i*from:], from, min(transposeRows, rows-i), cols, false)
	}
	return true
}
