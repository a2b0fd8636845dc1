package main

import (
	"fmt"
	"math"
	"strings"
)

// constants are the words of package tensor's Exp and Mish, each eight times in memory.
var constants = []struct {
	name string
	bits uint32
}{
	{"limit", math.Float32bits(20)},
	{"low", math.Float32bits(-87.33654)},
	{"log2e", math.Float32bits(math.Log2E)},
	{"round", math.Float32bits(3 << 22)},
	{"shift", 0x4b400000},
	{"ln2high", math.Float32bits(0.693359375)},
	{"ln2low", math.Float32bits(-2.12194440e-4)},
	{"c6", math.Float32bits(1.9875691500e-4)},
	{"c5", math.Float32bits(1.3981999507e-3)},
	{"c4", math.Float32bits(8.3334519073e-3)},
	{"c3", math.Float32bits(4.1665795894e-2)},
	{"c2", math.Float32bits(1.6666665459e-1)},
	{"c1", math.Float32bits(5.0000001201e-1)},
	{"1", math.Float32bits(1)},
	{"2", math.Float32bits(2)},
	{"4", math.Float32bits(4)},
	{"bias", 127},
}

// lanes is how the elementwise kernels use an instruction set. Both do the same
// operations on each element.
type lanes struct {
	prefix string // of a vector register
	count  int
}

var lanes8, lanes16 = lanes{"Y", 8}, lanes{"Z", 16}

// with writes an instruction whose first source is a constant, "V" before the registers
// being the prefix of one.
func (l lanes) with(t *text, op, name, regs string) {
	if l.count == 16 {
		op += ".BCST"
	}
	t.op("%s %s, %s", op, constant(name), strings.ReplaceAll(regs, "V", l.prefix))
}

// op writes an instruction on vectors.
func (l lanes) op(t *text, format string, args ...any) {
	name, regs, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	t.op("%s %s", name, strings.ReplaceAll(regs, "V", l.prefix))
}

func constant(name string) string {
	for i, c := range constants {
		if c.name == name {
			return fmt.Sprintf("·words+%d(SB)", 32*i)
		}
	}
	panic("gen: no constant " + name)
}

func constantTable(t *text) {
	t.WriteByte('\n')
	for i, c := range constants {
		for j := range 4 {
			fmt.Fprintf(t, "DATA ·words+%d(SB)/8, $%#x\n", 32*i+8*j, uint64(c.bits)<<32|uint64(c.bits))
		}
	}
	fmt.Fprintf(t, "GLOBL ·words(SB), RODATA|NOPTR, $%d\n\n", 32*len(constants))
	for i := range 16 { // even places of 32, then odd ones
		place := uint64(4*(i%8) + i/8)
		fmt.Fprintf(t, "DATA ·halves+%d(SB)/8, $%#x\n", 8*i, (place+2)<<32|place)
	}
	t.WriteString("GLOBL ·halves(SB), RODATA|NOPTR, $128\n")
}

// mish computes Mish of V0 into V1 and its derivative into V2, operation for operation as
// the Go function, so that bits agree. It uses V3 to V7 and K7, and keeps V0.
func (l lanes) mish(t *text) {
	l.op(t, "VBROADCASTSS %s, V3", constant("limit"))
	l.op(t, "VMINPS V0, V3, V3") // u; NaN stays
	l.op(t, "VBROADCASTSS %s, V4", constant("low"))
	if l.count == 16 {
		t.op("VCMPPS $0x15, Z4, Z3, K7") // not u < low: elsewhere e is 0
	} else {
		t.op("VCMPPS $0x11, Y4, Y3, Y7") // u < low: e is 0
	}
	l.op(t, "VMAXPS V3, V4, V4") // NaN stays
	l.with(t, "VMULPS", "log2e", "V4, V5")
	l.with(t, "VADDPS", "round", "V5, V5")
	l.with(t, "VSUBPS", "round", "V5, V6")
	l.with(t, "VPSUBD", "shift", "V5, V5") // n
	l.with(t, "VMULPS", "ln2high", "V6, V1")
	l.op(t, "VSUBPS V1, V4, V4")
	l.with(t, "VMULPS", "ln2low", "V6, V1")
	l.op(t, "VSUBPS V1, V4, V4") // r
	l.with(t, "VMULPS", "c6", "V4, V1")
	l.with(t, "VADDPS", "c5", "V1, V1")
	for _, c := range []string{"c4", "c3", "c2", "c1"} {
		l.op(t, "VMULPS V4, V1, V1")
		l.with(t, "VADDPS", c, "V1, V1")
	}
	l.op(t, "VMULPS V4, V4, V6")
	l.op(t, "VMULPS V6, V1, V1")
	l.op(t, "VADDPS V4, V1, V1")
	l.with(t, "VADDPS", "1", "V1, V1")
	l.op(t, "VPSRAD $1, V5, V4")
	l.op(t, "VPSUBD V4, V5, V5")
	for _, half := range []int{4, 5} {
		l.with(t, "VPADDD", "bias", fmt.Sprintf("V%d, V%[1]d", half))
		l.op(t, "VPSLLD $23, V%d, V%[1]d", half)
		l.op(t, "VMULPS V%d, V1, V1", half)
	}
	if l.count == 16 { // e
		t.op("VMOVAPS.Z Z1, K7, Z4")
	} else {
		t.op("VANDNPS Y1, Y7, Y4")
	}
	l.with(t, "VADDPS", "2", "V4, V5")
	l.op(t, "VMULPS V5, V4, V5") // n = e(e+2)
	l.with(t, "VADDPS", "2", "V5, V6")
	l.op(t, "VBROADCASTSS %s, V7", constant("1"))
	l.op(t, "VDIVPS V6, V7, V6") // r = 1/(n+2)
	l.op(t, "VADDPS V4, V7, V7")
	l.op(t, "VMULPS V6, V7, V7") // (1+e)r
	l.op(t, "VMULPS V6, V5, V5") // t
	l.op(t, "VMULPS V6, V4, V4") // e r
	l.with(t, "VMULPS", "4", "V3, V3")
	l.op(t, "VMULPS V4, V3, V3")
	l.op(t, "VMULPS V7, V3, V3")
	l.op(t, "VMULPS V5, V0, V1")
	l.op(t, "VADDPS V3, V5, V2")
}

func mishFile() []byte {
	t := assembly()
	for _, l := range []lanes{lanes8, lanes16} {
		name := fmt.Sprintf("mish%d", l.count)
		t.function(fmt.Sprintf("func %s(y, d, x *float32, blocks int)", name), name, 32)
		for _, arg := range []string{"y+0(FP), DI", "d+8(FP), DX", "x+16(FP), SI", "blocks+24(FP), CX"} {
			t.op("MOVQ %s", arg)
		}
		t.label("loop")
		l.op(t, "VMOVUPS (SI), V0")
		l.mish(t)
		l.op(t, "VMOVUPS V1, (DI)")
		l.op(t, "VMOVUPS V2, (DX)")
		for _, r := range []string{"SI", "DI", "DX"} {
			t.op("ADDQ $%d, %s", 4*l.count, r)
		}
		t.op("DECQ CX")
		t.op("JNZ loop")
		t.end()
	}
	poolMish(t, lanes8)
	poolMish(t, lanes16)
	constantTable(t)
	return t.Bytes()
}

// poolMish writes the pooling of blocks of 8 or 16 cells of 2x2: rows of pre-activations
// are parted into even and odd columns, the largest and smallest of four are found with
// their places, and the larger of their two Mish values stays.
func poolMish(t *text, l lanes) {
	name := fmt.Sprintf("poolMish%d", l.count)
	t.function(fmt.Sprintf("func %s(y, d *float32, at *int32, top, bottom *float32, columns, place "+
		"*int32, blocks int)", name), name, 64)
	for _, arg := range []string{
		"y+0(FP), DI", "d+8(FP), DX", "at+16(FP), R8", "top+24(FP), SI", "bottom+32(FP), R9",
		"columns+40(FP), R10", "place+48(FP), R11",
		"blocks+56(FP), CX",
	} {
		t.op("MOVQ %s", arg)
	}
	if l.count == 16 {
		for j := range 2 { // Z16, Z17: even and odd places of 32
			t.op("VMOVDQU32 ·halves+%d(SB), Z%d", 64*j, 16+j)
		}
	}
	t.label("loop")
	l.halves(t)
	l.op(t, "VMOVAPS V8, V0")  // largest
	l.op(t, "VMOVAPS V8, V12") // smallest
	l.op(t, "VBROADCASTSS (R11), V13")
	l.op(t, "VMOVAPS V13, V14")
	for i := 1; i < 4; i++ {
		l.op(t, "VBROADCASTSS %d(R11), V3", 4*i)
		l.choose(t, 0x1e, 0, 8+i, 13)
		l.choose(t, 0x11, 12, 8+i, 14)
	}
	for i := 9; i < 12; i++ { // 0 times the sum carries NaN and Inf that were not chosen
		l.op(t, "VADDPS V%d, V8, V8", i)
	}
	t.op("VXORPS Y15, Y15, Y15")
	l.op(t, "VMULPS V15, V8, V8")
	l.op(t, "VADDPS V8, V0, V0")
	l.mish(t)
	if l.count == 16 {
		t.op("VCMPPS $0x11, Z15, Z0, K2") // largest < 0
		t.op("KORTESTW K2, K2")
	} else {
		t.op("VCMPPS $0x11, Y15, Y0, Y11")
		t.op("VMOVMSKPS Y11, AX")
		t.op("TESTL AX, AX")
	}
	t.op("JZ done")
	l.op(t, "VMOVAPS V1, V8")
	l.op(t, "VMOVAPS V2, V9")
	l.op(t, "VMOVAPS V12, V0")
	l.mish(t)
	if l.count == 16 {
		t.op("VCMPPS $0x1e, Z8, Z1, K2, K2")
		t.op("VBLENDMPS Z1, Z8, K2, Z1")
		t.op("VBLENDMPS Z2, Z9, K2, Z2")
		t.op("VMOVAPS Z14, K2, Z13")
	} else {
		t.op("VCMPPS $0x1e, Y8, Y1, Y3")
		t.op("VANDPS Y3, Y11, Y3")
		t.op("VBLENDVPS Y3, Y1, Y8, Y1")
		t.op("VBLENDVPS Y3, Y2, Y9, Y2")
		t.op("VBLENDVPS Y3, Y14, Y13, Y13")
	}
	t.label("done")
	l.op(t, "VPADDD (R10), V13, V13")
	l.op(t, "VMOVUPS V1, (DI)")
	l.op(t, "VMOVUPS V2, (DX)")
	l.op(t, "VMOVUPS V13, (R8)")
	for _, r := range []string{"DI", "DX", "R8", "R10"} {
		t.op("ADDQ $%d, %s", 4*l.count, r)
	}
	for _, r := range []string{"SI", "R9"} {
		t.op("ADDQ $%d, %s", 8*l.count, r)
	}
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// halves loads the four pre-activations of each cell into V8 to V11.
func (l lanes) halves(t *text) {
	for i, row := range []string{"SI", "R9"} {
		l.op(t, "VMOVUPS (%s), V0", row)
		l.op(t, "VMOVUPS %d(%s), V1", 4*l.count, row)
		for j, imm := range []string{"$0x88", "$0xdd"} {
			to := 8 + 2*i + j
			if l.count == 16 {
				t.op("VMOVAPS Z0, Z%d", to)
				t.op("VPERMT2PS Z1, Z%d, Z%d", 16+j, to)
			} else {
				t.op("VSHUFPS %s, Y1, Y0, Y%d", imm, to)
				t.op("VPERMPD $0xd8, Y%d, Y%[1]d", to)
			}
		}
	}
}

// choose takes the value of register from, and its place in V3, where it compares so with
// the value in register best.
func (l lanes) choose(t *text, predicate, best, from, place int) {
	if l.count == 16 {
		t.op("VCMPPS $%#x, Z%d, Z%d, K1", predicate, best, from)
		t.op("VMOVAPS Z%d, K1, Z%d", from, best)
		t.op("VMOVAPS Z3, K1, Z%d", place)
		return
	}
	t.op("VCMPPS $%#x, Y%d, Y%d, Y4", predicate, best, from)
	t.op("VBLENDVPS Y4, Y%d, Y%d, Y%[2]d", from, best)
	t.op("VBLENDVPS Y4, Y3, Y%d, Y%[1]d", place)
}
