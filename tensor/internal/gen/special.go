package main

import (
	"bytes"
	"fmt"
	"math"
)

// specialFile writes e^x - 1, ln(1+x) and the tails of the normal law in double
// precision, for both instruction sets. Every step is one rounded operation of the Go
// twin, in its order, so that all variants give the same bits.
func specialFile() []byte {
	t := assembly()
	c := &wordTable{name: "specialWords", at: map[uint64]int{}}
	for _, m := range isas {
		d := doubles{text: t, c: c, isa: m, lanes: m.bytes / 8}
		d.elementwise("expm1", d.expm1)
		d.elementwise("log1p", d.log1p)
		d.normalTails()
	}
	c.write(t)
	return t.Bytes()
}

// elementwise writes a loop over blocks of eight, in which body turns register 0 into
// register 1.
func (d *doubles) elementwise(name string, body func()) {
	name += d.isa.name
	d.function(fmt.Sprintf("func %s(dst, x *float64, blocks int)", name), name, 24)
	for _, arg := range []string{"dst+0(FP), DI", "x+8(FP), SI", "blocks+16(FP), CX"} {
		d.op("MOVQ %s", arg)
	}
	d.label("loop")
	for at := 0; at < 64; at += d.isa.bytes {
		d.op("VMOVUPD %d(SI), %s", at, d.isa.reg(0))
		body()
		d.op("VMOVUPD %s, %d(DI)", d.isa.reg(1), at)
	}
	d.op("ADDQ $64, SI")
	d.op("ADDQ $64, DI")
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}

// nearest rounds x to whole numbers, to even.
func (d *doubles) nearest(x, dst int) {
	if d.wide() {
		d.op("VRNDSCALEPD $8, Z%d, Z%d", x, dst)
		return
	}
	d.op("VROUNDPD $8, Y%d, Y%d", x, dst)
}

// power turns a whole number k, -1022 to 1023, into 2^k.
func (d *doubles) power(k int) {
	d.withFloat("VADDPD", powerMagic, k, k)
	d.op("VPSLLQ $52, %s, %[1]s", d.isa.reg(k))
}

// reduced leaves in k the multiple of ln 2 next to x, and x less that in r.
func (d *doubles) reduced(x, k, r int) {
	d.withFloat("VMULPD", math.Log2E, x, k)
	d.nearest(k, k)
	d.op("VMOVAPD %s, %s", d.isa.reg(x), d.isa.reg(r))
	d.withFloat("VFNMADD231PD", math.Ln2, k, r)
	d.withFloat("VFNMADD231PD", ln2Rest, k, r)
}

// fraction leaves e^r - 1 in dst, |r| <= ln(2)/2. It spoils scratch.
func (d *doubles) fraction(r, dst, scratch int) {
	d.horner(expPoly, r, dst)
	d.do("VMULPD", r, r, scratch)
	d.do("VFMADD213PD", r, scratch, dst)
}

func (d *doubles) expm1() {
	d.reduced(0, 2, 3)
	d.fraction(3, 1, 4)
	d.power(2)
	d.withFloat("VSUBPD", 1, 2, 3)
	d.do("VFMADD213PD", 3, 2, 1)
}

func (d *doubles) log1p() {
	d.withFloat("VADDPD", 1, 0, 2)
	d.withFloat("VSUBPD", 1, 2, 3)
	d.do("VSUBPD", 3, 0, 3)
	d.do("VDIVPD", 2, 3, 3) // what rounding 1+x lost
	d.with("VPSUBQ", logOffset-64<<52, 2, 2)
	d.op("VPSRLQ $52, %s, %s", d.isa.reg(2), d.isa.reg(4))
	d.with(d.bitwise("VPOR"), magicLow, 4, 4)
	d.withFloat("VSUBPD", 0x1p52+64, 4, 4) // exponent
	d.with(d.bitwise("VPAND"), 1<<52-1, 2, 2)
	d.with("VPADDQ", logOffset, 2, 2)
	d.withFloat("VSUBPD", 1, 2, 2) // f
	d.do("VMULPD", 2, 2, 5)
	d.horner(logEven, 5, 6)
	d.horner(logOdd, 5, 1)
	d.do("VFMADD213PD", 6, 2, 1)
	d.withFloat("VFMADD213PD", -.5, 2, 1)
	d.do("VFMADD213PD", 2, 5, 1) // ln(1+f)
	d.do("VADDPD", 3, 1, 1)
	d.withFloat("VFMADD231PD", math.Ln2, 4, 1)
}

// normalTails writes the probabilities above and below x; see NormalTail for the steps.
func (d *doubles) normalTails() {
	name := fmt.Sprintf("normalTails%s", d.isa.name)
	d.function(fmt.Sprintf("func %s(above, below, x *float64, blocks int)", name), name, 32)
	for _, arg := range []string{"above+0(FP), DI", "below+8(FP), BX", "x+16(FP), SI", "blocks+24(FP), CX"} {
		d.op("MOVQ %s", arg)
	}
	d.label("loop")
	for at := 0; at < 64; at += d.isa.bytes {
		d.op("VMOVUPD %d(SI), %s", at, d.isa.reg(0))
		d.smallerTail()
		d.constant(1, 3)
		d.do("VSUBPD", 2, 3, 3)
		if d.wide() {
			d.op("VPMOVQ2M Z0, K1")
			d.op("VBLENDMPD Z3, Z2, K1, Z4")
			d.op("VBLENDMPD Z2, Z3, K1, Z5")
		} else {
			d.op("VBLENDVPD Y0, Y3, Y2, Y4")
			d.op("VBLENDVPD Y0, Y2, Y3, Y5")
		}
		d.op("VMOVUPD %s, %d(DI)", d.isa.reg(4), at)
		d.op("VMOVUPD %s, %d(BX)", d.isa.reg(5), at)
	}
	for _, r := range []string{"SI", "DI", "BX"} {
		d.op("ADDQ $64, %s", r)
	}
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}

// smallerTail leaves the probability above |x| in 2, for x in 0, which it keeps.
func (d *doubles) smallerTail() {
	d.with(d.bitwise("VPAND"), 1<<63-1, 0, 1)
	d.withFloat("VMINPD", farthest, 1, 1)
	d.do("VMULPD", 1, 1, 2)
	d.op("VMOVAPD %s, %s", d.isa.reg(1), d.isa.reg(3))
	d.do("VFMSUB213PD", 2, 1, 3) // what rounding the square lost
	d.withFloat("VMULPD", -.5, 2, 2)
	d.withFloat("VMULPD", .5, 3, 3)
	d.reduced(2, 4, 5)
	d.do("VSUBPD", 3, 5, 5)
	d.fraction(5, 6, 7)
	d.withFloat("VADDPD", 1, 6, 6)
	d.withFloat("VMULPD", .5, 4, 8)
	d.nearest(8, 8)
	d.do("VSUBPD", 8, 4, 9)
	d.power(8)
	d.power(9)
	d.withFloat("VMULPD", math.Sqrt2/2, 1, 10)
	d.withFloat("VSUBPD", tailCentre, 10, 11)
	d.withFloat("VADDPD", tailCentre, 10, 12)
	d.do("VDIVPD", 12, 11, 11)
	d.horner(tailPoly, 11, 13)
	d.do("VADDPD", 10, 10, 12)
	d.withFloat("VADDPD", 1, 12, 12)
	d.do("VMULPD", 6, 13, 13)
	d.do("VDIVPD", 12, 13, 13)
	d.withFloat("VMULPD", .5, 13, 13)
	d.do("VMULPD", 8, 13, 13)
	d.do("VMULPD", 9, 13, 2)
}

// Constants of the functions. They stand in the Go twins too, by specialConstants.
const (
	ln2Rest    = 0x1.abc9e3b39803fp-56 // ln 2 less the double next to it
	powerMagic = 0x1.8p52 + 1023       // its last bits are the exponent of 1
	farthest   = 40                    // beyond it tails are 0
	tailCentre = 4
)

var (
	// e^r = 1 + r + r^2 expPoly(r) for |r| <= ln(2)/2: interpolation at the 11 Chebyshev
	// points, relative error 2^-60 of e^r - 1.
	expPoly = []float64{
		0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100d3p-7,
		0x1.6c16c16c162cfp-10, 0x1.a01a01abeccc3p-13, 0x1.a01a01a6db488p-16, 0x1.71de02225a2f3p-19,
		0x1.27e4db5bb725ap-22, 0x1.af4e092e1705bp-26, 0x1.1f7315649f2d7p-29,
	}
	// (1 + 2y) e^(y^2) erfc(y) = tailPoly((y-4)/(y+4)) for 0 <= y <= 29 (the form of
	// Shepherd and Laframboise 1981): interpolation at the 23 Chebyshev points, relative
	// error 2^-53.5 with rounded coefficients.
	tailPoly = []float64{
		0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a29ep-3, 0x1.f7f5df66fd806p-7, 0x1.16ecefcfa61dap-4,
		-0x1.9ddb23c3e8ef9p-4, 0x1.7fee004df3a1ap-4, -0x1.0fb06dfe54c04p-4, 0x1.3079edfa4ea37p-5,
		-0x1.09623880c4501p-6, 0x1.49c6717d9fe59p-8, -0x1.8d4aa002147e2p-11, -0x1.a1de78dfeb196p-13,
		0x1.3be0d8d001294p-13, -0x1.996ab473abe80p-16, -0x1.78aa0adc84d2fp-17, 0x1.7fb3252b67feap-18,
		0x1.44a272e65b3b7p-22, -0x1.bff41b84b64dep-21, 0x1.0a4ad62e493e8p-24, 0x1.ebae5c1da3babp-24,
		-0x1.065a3aca0c0d2p-27, -0x1.c8d2e1aefd0d8p-27, -0x1.d3ea40d3b4fedp-30,
	}
)

// specialConstants writes the Go declarations of the constants.
func specialConstants() []byte {
	var g bytes.Buffer
	g.WriteString("// Code generated by sotto/tensor/internal/gen. DO NOT EDIT.\n\npackage tensor\n\n")
	fmt.Fprintf(&g, "const (\n\tln2Rest    = %x\n\tpowerMagic = %x\n\tfarthest   = %d\n\ttailCentre = %d\n)\n",
		ln2Rest, powerMagic, farthest, tailCentre)
	writePolynomials(&g, polynomial{"expPoly", expPoly}, polynomial{"tailPoly", tailPoly})
	return g.Bytes()
}

type polynomial struct {
	name string
	c    []float64
}

func writePolynomials(g *bytes.Buffer, all ...polynomial) {
	for _, p := range all {
		fmt.Fprintf(g, "\nvar %s = [...]float64{\n", p.name)
		for _, x := range p.c {
			fmt.Fprintf(g, "\t%x,\n", x)
		}
		g.WriteString("}\n")
	}
}
