package main

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
)

// noiseFile writes the Box-Muller transform and the addition of noise on a grid, in
// double precision, for both instruction sets. Every step is one rounded operation of the
// Go twin, in its order, so that all variants give the same bits.
func noiseFile() []byte {
	t := assembly()
	c := &wordTable{name: "noiseWords", at: map[uint64]int{}}
	for _, m := range isas {
		d := doubles{text: t, c: c, isa: m, lanes: m.bytes / 8}
		d.boxMuller()
		d.addNoise("addNoise", false)
		d.addNoise("addNoiseGrid", true)
		d.addNormals("addNormals", false)
		d.addNormals("addNormalsWide", true)
		d.addWide()
	}
	c.write(t)
	return t.Bytes()
}

// wordTable collects 64-bit words, each four times: an AVX2 operand.
type wordTable struct {
	name  string
	at    map[uint64]int
	words []uint64
}

func (c *wordTable) ref(w uint64) string {
	i, ok := c.at[w]
	if !ok {
		i = len(c.words)
		c.at[w] = i
		c.words = append(c.words, w)
	}
	return fmt.Sprintf("·%s+%d(SB)", c.name, 32*i)
}

func (c *wordTable) write(t *text) {
	t.WriteByte('\n')
	for i, w := range c.words {
		for lane := range 4 {
			fmt.Fprintf(t, "DATA ·%s+%d(SB)/8, $%#x\n", c.name, 32*i+8*lane, w)
		}
	}
	fmt.Fprintf(t, "GLOBL ·%s(SB), RODATA|NOPTR, $%d\n", c.name, 32*len(c.words))
}

// doubles writes operations on vectors of 4 or 8 doubles. Register numbers stand for Y or
// Z registers.
type doubles struct {
	*text
	c     *wordTable
	isa   isa
	lanes int
}

func (d *doubles) wide() bool { return d.isa.prefix == "Z" }

// do writes dst = name(x, y) for registers.
func (d *doubles) do(name string, y, x, dst int) {
	d.op("%s %s, %s, %s", name, d.isa.reg(y), d.isa.reg(x), d.isa.reg(dst))
}

// with writes dst = name(x, constant).
func (d *doubles) with(name string, constant uint64, x, dst int) {
	suffix := ""
	if d.wide() {
		suffix = ".BCST"
	}
	d.op("%s%s %s, %s, %s", name, suffix, d.c.ref(constant), d.isa.reg(x), d.isa.reg(dst))
}

func (d *doubles) withFloat(name string, constant float64, x, dst int) {
	d.with(name, math.Float64bits(constant), x, dst)
}

// bitwise is the name of an operation on bits: AVX-512 wants a lane size.
func (d *doubles) bitwise(name string) string {
	if d.wide() {
		return name + "Q"
	}
	return name
}

// The bits of 2^52, below which a word's lower half, and of 2^84, below which its upper
// half makes a double.
const (
	magicLow      = 0x4330000000000000
	magicHigh     = 0x4530000000000000
	magicHighSign = 0x4530000080000000 // with 2^63 added, which flips the sign bit
)

// convert turns 64-bit integers into doubles, rounded to nearest. AVX2 joins two exact
// halves in one rounded addition. It spoils scratch.
func (d *doubles) convert(signed bool, x, scratch int) {
	if d.wide() {
		name := "VCVTUQQ2PD"
		if signed {
			name = "VCVTQQ2PD"
		}
		d.op("%s %s, %[2]s", name, d.isa.reg(x))
		return
	}
	high, offset := uint64(magicHigh), 0x1p84+0x1p52
	if signed {
		high, offset = magicHighSign, 0x1p84+0x1p63+0x1p52
	}
	d.op("VPSRLQ $32, Y%d, Y%d", x, scratch)
	d.with("VPXOR", high, scratch, scratch)
	d.withFloat("VSUBPD", offset, scratch, scratch)
	d.op("VPBLENDD $0xaa, %s, Y%d, Y%[2]d", d.c.ref(magicLow), x)
	d.do("VADDPD", x, scratch, x)
}

// constant fills a register.
func (d *doubles) constant(x float64, dst int) {
	ref := d.c.ref(math.Float64bits(x))
	if d.wide() {
		d.op("VBROADCASTSD %s, Z%d", ref, dst)
		return
	}
	d.op("VMOVUPD %s, Y%d", ref, dst)
}

// horner leaves the polynomial with the given coefficients, lowest first, at x in dst.
func (d *doubles) horner(coefficients []float64, x, dst int) {
	last := len(coefficients) - 1
	d.constant(coefficients[last], dst)
	for i := last - 1; i >= 0; i-- {
		d.withFloat("VFMADD213PD", coefficients[i], x, dst)
	}
}

// boxMuller turns pairs of words into pairs of normal values; see normalPair for the
// steps.
func (d *doubles) boxMuller() {
	name := fmt.Sprintf("boxMuller%s", d.isa.name)
	d.function(fmt.Sprintf("func %s(dst *float64, words *byte, blocks int)", name), name, 24)
	for _, arg := range []string{"dst+0(FP), DI", "words+8(FP), SI", "blocks+16(FP), CX"} {
		d.op("MOVQ %s", arg)
	}
	d.label("loop")
	d.normals(false)
	d.op("VMOVUPD %s, (DI)", d.isa.reg(0))
	d.op("VMOVUPD %s, %d(DI)", d.isa.reg(1), d.isa.bytes)
	d.op("ADDQ $%d, SI", 2*d.isa.bytes)
	d.op("ADDQ $%d, DI", 2*d.isa.bytes)
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}

// normals turns the words at SI into normal values, in order in 0 and 1. With certain,
// those whose radius is not certain are not numbers.
func (d *doubles) normals(certain bool) {
	d.op("VMOVUPD (SI), %s", d.isa.reg(0))
	d.op("VMOVUPD %d(SI), %s", d.isa.bytes, d.isa.reg(1))
	d.do("VUNPCKLPD", 1, 0, 2) // words of the radius
	d.do("VUNPCKHPD", 1, 0, 3) // words of the direction
	if certain {
		d.extreme()
	}
	d.radius() // to 7
	if certain {
		if d.wide() {
			d.op("VPORQ.BCST %s, Z7, K2, Z7", d.c.ref(1<<64-1))
		} else {
			d.do("VPOR", 11, 7, 7)
		}
	}
	d.direction() // to 8, 9
	d.do("VMULPD", 7, 8, 8)
	d.do("VMULPD", 7, 9, 9)
	d.do("VUNPCKLPD", 9, 8, 0)
	d.do("VUNPCKHPD", 9, 8, 1)
}

// radius leaves sqrt(-2 ln u) in 7, of the words in 2.
func (d *doubles) radius() {
	d.convert(false, 2, 4)
	d.withFloat("VADDPD", .5, 2, 2)
	d.with("VPSUBQ", logOffset-1<<52, 2, 2)
	d.op("VPSRLQ $52, %s, %s", d.isa.reg(2), d.isa.reg(4))
	d.with(d.bitwise("VPOR"), magicLow, 4, 4)
	d.withFloat("VSUBPD", 0x1p52+65, 4, 4) // exponent
	d.with(d.bitwise("VPAND"), 1<<52-1, 2, 2)
	d.with("VPADDQ", logOffset, 2, 2)
	d.withFloat("VSUBPD", 1, 2, 2) // f
	d.do("VMULPD", 2, 2, 5)        // f^2
	d.horner(logEven, 5, 6)
	d.horner(logOdd, 5, 7)
	d.do("VFMADD213PD", 6, 2, 7)
	d.withFloat("VFMADD213PD", -.5, 2, 7)
	d.do("VFMADD213PD", 2, 5, 7) // ln(1+f)
	d.withFloat("VFMADD231PD", math.Ln2, 4, 7)
	d.withFloat("VMULPD", -2, 7, 7)
	d.op("VSQRTPD %s, %[1]s", d.isa.reg(7))
}

// direction leaves the two coordinates of a point on the circle in 8 and 9, of the words
// in 3.
func (d *doubles) direction() {
	d.op("VPSLLQ $2, %s, %s", d.isa.reg(3), d.isa.reg(4))
	d.convert(true, 4, 5)
	d.withFloat("VMULPD", eighthTurn, 4, 4) // z
	d.do("VMULPD", 4, 4, 5)                 // z^2
	d.do("VMULPD", 5, 4, 6)                 // z^3
	d.horner(sinPoly, 5, 9)
	d.do("VFMADD213PD", 4, 6, 9) // sin z
	d.do("VMULPD", 5, 5, 6)      // z^4
	d.horner(cosPoly, 5, 8)
	d.constant(1, 10)
	d.withFloat("VFMADD231PD", -.5, 5, 10)
	d.do("VFMADD213PD", 10, 6, 8) // cos z
	d.op("VPSLLQ $1, %s, %s", d.isa.reg(3), d.isa.reg(4))
	d.with(d.bitwise("VPAND"), 1<<63, 4, 4)
	d.do(d.bitwise("VPXOR"), 4, 8, 8)
	if d.wide() {
		d.op("VPMOVQ2M Z3, K1")
		d.op("VBLENDMPD Z9, Z8, K1, Z10")
		d.op("VBLENDMPD Z8, Z9, K1, Z9")
		d.op("VMOVAPD Z10, Z8")
		return
	}
	d.op("VBLENDVPD Y3, Y9, Y8, Y10")
	d.op("VBLENDVPD Y3, Y8, Y9, Y9")
	d.op("VMOVAPD Y10, Y8")
}

// addNoise adds scaled noise to a value in grid units, float32 or an integer, rounds the
// sum to a whole number of them and stores it in the value's own units.
func (d *doubles) addNoise(name string, grid bool) {
	name += d.isa.name
	signature, args := "(x *float32, inv, step, sigma float64, z *float64, blocks int)", []string{
		"x+0(FP), DI", "z+32(FP), SI", "blocks+40(FP), CX"}
	first, bytes := 8, 48
	if grid {
		signature, args = "(x *float32, grid *int64, inv, step, sigma float64, z *float64, blocks int)",
			[]string{
				"x+0(FP), DI", "grid+8(FP), DX", "z+40(FP), SI", "blocks+48(FP), CX"}
		first, bytes = 16, 56
	}
	d.function("func "+name+signature, name, bytes)
	for _, arg := range args {
		d.op("MOVQ %s", arg)
	}
	for i, arg := range []string{"inv", "step", "sigma"} {
		d.op("VBROADCASTSD %s+%d(FP), %s", arg, first+8*i, d.isa.reg(13+i))
	}
	d.label("loop")
	for at := 0; at < 8; at += d.lanes { // 8 elements a round
		if grid {
			d.op("VMOVUPD %d(DX), %s", 8*at, d.isa.reg(0))
			d.convert(true, 0, 1)
		} else {
			d.op("VCVTPS2PD %d(DI), %s", 4*at, d.isa.reg(0))
		}
		d.do("VMULPD", 13, 0, 0)
		d.op("VFMADD231PD %d(SI), %s, %s", 8*at, d.isa.reg(15), d.isa.reg(0))
		if d.wide() {
			d.op("VRNDSCALEPD $8, Z0, Z0")
		} else {
			d.op("VROUNDPD $8, Y0, Y0")
		}
		d.do("VMULPD", 14, 0, 0)
		if d.wide() {
			d.op("VCVTPD2PS Z0, Y0")
			d.op("VMOVUPS Y0, %d(DI)", 4*at)
		} else {
			d.op("VCVTPD2PSY Y0, X0")
			d.op("VMOVUPS X0, %d(DI)", 4*at)
		}
	}
	d.op("ADDQ $32, DI")
	d.op("ADDQ $64, SI")
	if grid {
		d.op("ADDQ $64, DX")
	}
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}

// Constants of the polynomials. They stand in the Go twin too, by noiseConstants.
const (
	leastRadiusWord = 1 << 42
	nearOneWords    = 1 << 45

	logOffset  = 0x3fe5555555555555      // the bits of 2/3: fractions lie in [2/3, 4/3)
	eighthTurn = math.Pi / (1 << 62) / 8 // an angle in units of 2^-66 turns
)

var (
	// ln(1+f) = f - f^2/2 + f^3 (logEven(f^2) + f logOdd(f^2)) for |f| <= 1/3:
	// interpolation at the 18 Chebyshev points, relative error 2^-52 of ln(1+f).
	logEven = []float64{
		0x1.5555555555571p-2, 0x1.9999999986411p-3, 0x1.24924936a674ep-3, 0x1.c71c64ce7c491p-4,
		0x1.745f69c23d592p-4,
		0x1.3ad83c421c2e9p-4, 0x1.1487294ad8da8p-4, 0x1.a6d10853dff56p-5, 0x1.59830f20005eep-4,
	}
	logOdd = []float64{
		-0x1.000000000001ap-2, -0x1.5555555542d50p-3, -0x1.000000114a123p-3, -0x1.99998d320c7f9p-4,
		-0x1.55578dd3829f9p-4,
		-0x1.24596e8321468p-4, -0x1.034f3a1626bbcp-4, -0x1.8ea51c3a05846p-5, -0x1.48f94f5882681p-4,
	}
	// sin z = z + z^3 sinPoly(z^2) and cos z = 1 - z^2/2 + z^4 cosPoly(z^2) for |z| <=
	// pi/4 (Moshier, Cephes).
	sinPoly = []float64{
		-1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4,
		2.75573136213857245213e-6,
		-2.50507477628578072866e-8, 1.58962301576546568060e-10,
	}
	cosPoly = []float64{
		4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
		-2.75573141792967388112e-7,
		2.08757008419748316778e-9, -1.13585365213876817300e-11,
	}
)

// noiseConstants writes the Go declarations of the constants.
func noiseConstants() []byte {
	var g bytes.Buffer
	g.WriteString("// Code generated by sotto/tensor/internal/gen. DO NOT EDIT.\n\npackage tensor\n\n")
	fmt.Fprintf(&g, "const (\n\tlogOffset  = %#x\n\teighthTurn = %x\n", uint64(logOffset), eighthTurn)
	fmt.Fprintf(&g, "\n\tleastRadiusWord = 1 << %d\n\tnearOneWords    = 1 << %d\n)\n",
		bits.TrailingZeros(leastRadiusWord), bits.TrailingZeros(nearOneWords))
	writePolynomials(&g, polynomial{"logEven", logEven}, polynomial{"logOdd", logOdd},
		polynomial{"sinPoly", sinPoly}, polynomial{"cosPoly", cosPoly})
	return g.Bytes()
}
