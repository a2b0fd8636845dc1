package main

import (
	"fmt"
	"math"
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
	fmt.Fprintf(t, "GLOBL ·words(SB), RODATA|NOPTR, $%d\n", 32*len(constants))
}

// mish computes Mish of Y0 into Y1 and its derivative into Y2, operation for operation as the Go function, so
// that bits agree. It uses Y3 to Y7 and keeps Y0.
func mish(t *text) {
	t.op("VMOVUPS %s, Y3", constant("limit"))
	t.op("VMINPS Y0, Y3, Y3") // u; NaN stays
	t.op("VMOVUPS %s, Y4", constant("low"))
	t.op("VCMPPS $0x11, Y4, Y3, Y7") // u < low: e is 0
	t.op("VMAXPS Y3, Y4, Y4")        // NaN stays
	t.op("VMULPS %s, Y4, Y5", constant("log2e"))
	t.op("VADDPS %s, Y5, Y5", constant("round"))
	t.op("VSUBPS %s, Y5, Y6", constant("round"))
	t.op("VPSUBD %s, Y5, Y5", constant("shift")) // n
	t.op("VMULPS %s, Y6, Y1", constant("ln2high"))
	t.op("VSUBPS Y1, Y4, Y4")
	t.op("VMULPS %s, Y6, Y1", constant("ln2low"))
	t.op("VSUBPS Y1, Y4, Y4") // r
	t.op("VMULPS %s, Y4, Y1", constant("c6"))
	t.op("VADDPS %s, Y1, Y1", constant("c5"))
	for _, c := range []string{"c4", "c3", "c2", "c1"} {
		t.op("VMULPS Y4, Y1, Y1")
		t.op("VADDPS %s, Y1, Y1", constant(c))
	}
	t.op("VMULPS Y4, Y4, Y6")
	t.op("VMULPS Y6, Y1, Y1")
	t.op("VADDPS Y4, Y1, Y1")
	t.op("VADDPS %s, Y1, Y1", constant("1"))
	t.op("VPSRAD $1, Y5, Y4")
	t.op("VPSUBD Y4, Y5, Y5")
	for _, half := range []string{"Y4", "Y5"} {
		t.op("VPADDD %s, %[2]s, %[2]s", constant("bias"), half)
		t.op("VPSLLD $23, %s, %[1]s", half)
		t.op("VMULPS %s, Y1, Y1", half)
	}
	t.op("VANDNPS Y1, Y7, Y4") // e
	t.op("VADDPS %s, Y4, Y5", constant("2"))
	t.op("VMULPS Y5, Y4, Y5") // n = e(e+2)
	t.op("VADDPS %s, Y5, Y6", constant("2"))
	t.op("VMOVUPS %s, Y7", constant("1"))
	t.op("VDIVPS Y6, Y7, Y6") // r = 1/(n+2)
	t.op("VADDPS Y4, Y7, Y7")
	t.op("VMULPS Y6, Y7, Y7") // (1+e)r
	t.op("VMULPS Y6, Y5, Y5") // t
	t.op("VMULPS Y6, Y4, Y4") // e r
	t.op("VMULPS %s, Y3, Y3", constant("4"))
	t.op("VMULPS Y4, Y3, Y3")
	t.op("VMULPS Y7, Y3, Y3")
	t.op("VMULPS Y5, Y0, Y1")
	t.op("VADDPS Y3, Y5, Y2")
}

func mishFile() []byte {
	t := assembly()
	t.function("func mish8(y, d, x *float32, blocks int)", "mish8", 32)
	for _, arg := range []string{"y+0(FP), DI", "d+8(FP), DX", "x+16(FP), SI", "blocks+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.label("loop")
	t.op("VMOVUPS (SI), Y0")
	mish(t)
	t.op("VMOVUPS Y1, (DI)")
	t.op("VMOVUPS Y2, (DX)")
	for _, r := range []string{"SI", "DI", "DX"} {
		t.op("ADDQ $32, %s", r)
	}
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
	poolMish(t)
	constantTable(t)
	return t.Bytes()
}

// poolMish writes the pooling of 8 cells of 2x2: rows of 16 pre-activations are parted into even and odd columns, the
// largest and smallest of four are found with their places, and the larger of their two Mish values stays.
func poolMish(t *text) {
	t.function("func poolMish8(y, d *float32, at *int32, top, bottom *float32, columns, place *int32)", "poolMish8", 56)
	for _, arg := range []string{
		"y+0(FP), DI", "d+8(FP), DX", "at+16(FP), R8", "top+24(FP), SI", "bottom+32(FP), R9", "columns+40(FP), R10", "place+48(FP), R11",
	} {
		t.op("MOVQ %s", arg)
	}
	for i, row := range []string{"SI", "R9"} { // Y8..Y11: the four of each cell
		t.op("VMOVUPS (%s), Y0", row)
		t.op("VMOVUPS 32(%s), Y1", row)
		for j, imm := range []string{"$0x88", "$0xdd"} {
			t.op("VSHUFPS %s, Y1, Y0, Y%d", imm, 8+2*i+j)
			t.op("VPERMPD $0xd8, Y%d, Y%[1]d", 8+2*i+j)
		}
	}
	t.op("VMOVAPS Y8, Y0")  // largest
	t.op("VMOVAPS Y8, Y12") // smallest
	t.op("VBROADCASTSS (R11), Y13")
	t.op("VMOVAPS Y13, Y14")
	for i := 1; i < 4; i++ {
		t.op("VBROADCASTSS %d(R11), Y3", 4*i)
		t.op("VCMPPS $0x1e, Y0, Y%d, Y4", 8+i)
		t.op("VBLENDVPS Y4, Y%d, Y0, Y0", 8+i)
		t.op("VBLENDVPS Y4, Y3, Y13, Y13")
		t.op("VCMPPS $0x11, Y12, Y%d, Y4", 8+i)
		t.op("VBLENDVPS Y4, Y%d, Y12, Y12", 8+i)
		t.op("VBLENDVPS Y4, Y3, Y14, Y14")
	}
	for i := 9; i < 12; i++ { // 0 times the sum carries NaN and Inf that were not chosen
		t.op("VADDPS Y%d, Y8, Y8", i)
	}
	t.op("VXORPS Y15, Y15, Y15")
	t.op("VMULPS Y15, Y8, Y8")
	t.op("VADDPS Y8, Y0, Y0")
	mish(t)
	t.op("VCMPPS $0x11, Y15, Y0, Y11") // largest < 0
	t.op("VMOVMSKPS Y11, AX")
	t.op("TESTL AX, AX")
	t.op("JZ done")
	t.op("VMOVAPS Y1, Y8")
	t.op("VMOVAPS Y2, Y9")
	t.op("VMOVAPS Y12, Y0")
	mish(t)
	t.op("VCMPPS $0x1e, Y8, Y1, Y3")
	t.op("VANDPS Y3, Y11, Y3")
	t.op("VBLENDVPS Y3, Y1, Y8, Y1")
	t.op("VBLENDVPS Y3, Y2, Y9, Y2")
	t.op("VBLENDVPS Y3, Y14, Y13, Y13")
	t.label("done")
	t.op("VPADDD (R10), Y13, Y13")
	t.op("VMOVUPS Y1, (DI)")
	t.op("VMOVUPS Y2, (DX)")
	t.op("VMOVDQU Y13, (R8)")
	t.end()
}
