package main

import "fmt"

// fourierFile writes the passes of a Fourier transform in double precision, for both
// instruction sets. Every step is one rounded operation of the Go twin, in its order, so
// that all variants give the same bits.
func fourierFile() []byte {
	t := assembly()
	c := &wordTable{name: "fourierWords", at: map[uint64]int{}}
	for _, m := range isas {
		d := doubles{text: t, c: c, isa: m, lanes: m.bytes / 8}
		for _, radix := range []int{2, 3, 4} {
			d.pass(radix)
		}
	}
	c.write(t)
	return t.Bytes()
}

// pass is one pass of Stockham's transform: SI and DX are the real and imaginary parts of
// what is read, R8 apart; DI and BX of what is written, R9 apart; R10 are the turns, R11
// counts vectors of a turn, CX turns.
func (d *doubles) pass(radix int) {
	name := fmt.Sprintf("pass%d_%s", radix, d.isa.name)
	d.function(fmt.Sprintf("func %s(dstRe, dstIm, srcRe, srcIm, turns *float64, apart, stride, count int)", name),
		name, 64)
	for _, arg := range []string{"dstRe+0(FP), DI", "dstIm+8(FP), BX", "srcRe+16(FP), SI", "srcIm+24(FP), DX",
		"turns+32(FP), R10", "apart+40(FP), R8", "stride+48(FP), R9", "count+56(FP), CX"} {
		d.op("MOVQ %s", arg)
	}
	d.op("LEAQ (R8)(R8*2), R12")
	d.op("LEAQ (R9)(R9*2), R13")
	in := []string{"(%s)", "(%s)(R8*1)", "(%s)(R8*2)", "(%s)(R12*1)"}
	out := []string{"(%s)", "(%s)(R9*1)", "(%s)(R9*2)", "(%s)(R13*1)"}
	d.label("turn")
	d.op("MOVQ R9, R11")
	d.label("vector")
	for k := range radix {
		d.op("VMOVUPD %s, %s", fmt.Sprintf(in[k], "SI"), d.isa.reg(2*k))
		d.op("VMOVUPD %s, %s", fmt.Sprintf(in[k], "DX"), d.isa.reg(2*k+1))
	}
	var first [4]int // register of the real part of each result, the imaginary one is next
	switch radix {
	case 2:
		first = [4]int{4, 0}
		d.sumAndDifference(0, 2, 4, 0)
	case 3:
		first = d.butterfly3()
	case 4:
		first = d.butterfly4()
	}
	for k := range radix {
		if k > 0 {
			d.turn(first[k], 16*(k-1))
		}
		d.op("VMOVUPD %s, %s", d.isa.reg(first[k]), fmt.Sprintf(out[k], "DI"))
		d.op("VMOVUPD %s, %s", d.isa.reg(first[k]+1), fmt.Sprintf(out[k], "BX"))
	}
	for _, r := range []string{"SI", "DX", "DI", "BX"} {
		d.op("ADDQ $%d, %s", d.isa.bytes, r)
	}
	d.op("SUBQ $%d, R11", d.isa.bytes)
	d.op("JNZ vector")
	for _, r := range []string{"DI", "BX"} {
		for range radix - 1 {
			d.op("ADDQ R9, %s", r)
		}
	}
	d.op("ADDQ $%d, R10", 16*(radix-1))
	d.op("DECQ CX")
	d.op("JNZ turn")
	d.end()
}

// sumAndDifference leaves x + y in sum and x - y in difference, complex numbers in two
// registers each. difference may be x.
func (d *doubles) sumAndDifference(x, y, sum, difference int) {
	for i := range 2 {
		d.do("VADDPD", y+i, x+i, sum+i)
		d.do("VSUBPD", y+i, x+i, difference+i)
	}
}

// quarter leaves x - i y in minus and x + i y in plus, which may be x.
func (d *doubles) quarter(x, y, minus, plus int) {
	d.do("VADDPD", y+1, x, minus)
	d.do("VSUBPD", y, x+1, minus+1)
	d.do("VSUBPD", y+1, x, plus)
	d.do("VADDPD", y, x+1, plus+1)
}

func (d *doubles) butterfly3() [4]int {
	d.sumAndDifference(2, 4, 6, 8)
	for i := range 2 {
		d.do("VADDPD", 6+i, 0+i, 10+i)
		d.withFloat("VFMADD231PD", -.5, 6+i, 0+i)
		d.withFloat("VMULPD", sqrt3/2, 8+i, 8+i)
	}
	d.quarter(0, 8, 2, 4)
	return [4]int{10, 2, 4}
}

func (d *doubles) butterfly4() [4]int {
	d.sumAndDifference(0, 4, 8, 10)
	d.sumAndDifference(2, 6, 12, 14)
	d.sumAndDifference(8, 12, 0, 2)
	d.quarter(10, 14, 4, 6)
	return [4]int{0, 4, 2, 6}
}

// turn multiplies a complex number by the one at the offset from R10. It spoils the last
// four registers, 12 to 15.
func (d *doubles) turn(x, offset int) {
	d.op("VBROADCASTSD %d(R10), %s", offset, d.isa.reg(12))
	d.op("VBROADCASTSD %d(R10), %s", offset+8, d.isa.reg(13))
	d.do("VMULPD", 13, x+1, 14)
	d.do("VMULPD", 13, x, 15)
	d.do("VFMSUB213PD", 14, 12, x)
	d.do("VFMADD213PD", 15, 12, x+1)
}

const sqrt3 = 1.73205080756887729352744634150587236694280525381038
