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
