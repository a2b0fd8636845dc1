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

// transpose8 writes 8 rows of src as columns of dst: dst[j*ldd+i] = src[i*lds+j] for i < 8, j < 8*blocks.
// Strides are in bytes; blocks >= 1.
//
//go:noescape
func transpose8(dst *float32, ldd int, src *float32, lds, blocks int)

// transposeAdd8 is transpose8 that adds to dst.
//
//go:noescape
func transposeAdd8(dst *float32, ldd int, src *float32, lds, blocks int)

func peak512(rounds int)
func peak256(rounds int)

// SpinFMA does rounds > 0 rounds of independent multiply-adds on registers alone, with the kernels in use, and returns the
// number of floating-point operations (two for each multiply-add). Timed, it measures what the best product
// could reach. A million rounds take milliseconds that no garbage collection can interrupt.
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

// mish8 is Mishes of 8*blocks elements, blocks >= 1.
//
//go:noescape
func mish8(y, d, x *float32, blocks int)

// poolMish8 is PoolMish of 8 cells. place holds what is added to columns for each of a cell's four positions.
//
//go:noescape
func poolMish8(y, d *float32, at *int32, top, bottom *float32, columns, place *int32)

// convolve8, convolve16 and convolve24 are Convolve5 of that many positions; plane, width and area are in bytes.
//
//go:noescape
func convolve8(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

//go:noescape
func convolve16(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

//go:noescape
func convolve24(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)

// patchGradient5 is PatchGradient5 of n >= 1 patches; width is in bytes.
//
//go:noescape
func patchGradient5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)

// sumSquares16 adds the squares of elements j, j+16, ... of 16*blocks to lane j, blocks >= 1.
//
//go:noescape
func sumSquares16(lanes *float64, x *float32, blocks int)
