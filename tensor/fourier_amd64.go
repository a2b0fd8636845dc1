package tensor

// pass2_512 and the others are one pass of a Fourier transform; see pass. apart and
// stride are in bytes, stride a multiple of 64.
//
//go:noescape
func pass2_512(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

//go:noescape
func pass3_512(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

//go:noescape
func pass4_512(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

//go:noescape
func pass2_256(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

//go:noescape
func pass3_256(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

//go:noescape
func pass4_256(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)

// fastPass does p and returns true where there is a kernel for it.
func fastPass(p *pass, dst, src planes) bool {
	if active == portable || p.stride%8 != 0 {
		return false
	}
	var run func(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)
	switch {
	case p.radix == 2 && active == avx512:
		run = pass2_512
	case p.radix == 3 && active == avx512:
		run = pass3_512
	case p.radix == 4 && active == avx512:
		run = pass4_512
	case p.radix == 2:
		run = pass2_256
	case p.radix == 3:
		run = pass3_256
	case p.radix == 4:
		run = pass4_256
	default:
		return false
	}
	run(&dst.re[0], &dst.im[0], &src.re[0], &src.im[0], &p.turns[0], 8*p.count*p.stride, 8*p.stride, p.count)
	return true
}
