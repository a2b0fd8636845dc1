package main

import (
	"fmt"
	"math"
)

// activationFile writes rectifiers and their gradients, and the elementwise product that
// applies any other derivative.
func activationFile() []byte {
	t := assembly()
	t.vectors("rectify8", []string{"y", "x"}, "slope", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VCMPPS $0x16, Y14, Y0, Y1") // not at most 0: positive or NaN
		t.op("VMULPS Y15, Y0, Y2")
		t.op("VBLENDVPS Y1, Y0, Y2, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("relu8", []string{"y", "x"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VCMPPS $0x16, Y14, Y0, Y1")
		t.op("VANDPS Y0, Y1, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("rectifyGradient8", []string{"dx", "dy", "x"}, "slope", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VCMPPS $0x16, Y14, Y0, Y1")
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VMULPS Y15, Y0, Y2")
		t.op("VBLENDVPS Y1, Y0, Y2, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("mul8", []string{"dst", "a", "b"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VMULPS %s, Y0, Y0", at(2))
		t.op("VMOVUPS Y0, %s", at(0))
	})
	curves(t)
	return t.Bytes()
}

// curveWords are the constants of the smooth activations that Mish does not have, each
// eight times in memory.
var curveWords = []struct {
	name string
	bits uint32
}{
	{"-20", math.Float32bits(-20)},
	{"half", math.Float32bits(0.5)},
	{"10", math.Float32bits(10)},
	{"-10", math.Float32bits(-10)},
	{"a", math.Float32bits(0.7978845608028654)},
	{"b", math.Float32bits(0.044715)},
	{"3b", math.Float32bits(3 * 0.044715)},
	{"sign", 1 << 31},
}

func curveWord(name string) string {
	for i, c := range curveWords {
		if c.name == name {
			return fmt.Sprintf("·curves+%d(SB)", 32*i)
		}
	}
	panic("gen: no constant " + name)
}

// curves writes the smooth activations, operation for operation as in Go.
func curves(t *text) {
	args := []string{"y", "d", "x"}
	t.vectors("tanh8", args, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y2", at(2))
		tanhOf(t)
		t.op("VMULPS Y1, Y1, Y2")
		t.op("VMOVUPS %s, Y3", constant("1"))
		t.op("VSUBPS Y2, Y3, Y2")
		t.op("VMOVUPS Y1, %s", at(0))
		t.op("VMOVUPS Y2, %s", at(1))
	})
	t.vectors("sigmoid8", args, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VORPS %s, Y0, Y3", curveWord("sign")) // -|x|
		exponential(t)
		t.op("VMOVUPS %s, Y1", constant("1"))
		t.op("VADDPS Y4, Y1, Y2")
		t.op("VCMPPS $0x11, Y14, Y0, Y3") // x < 0
		t.op("VBLENDVPS Y3, Y4, Y1, Y4")
		t.op("VDIVPS Y2, Y4, Y4")
		t.op("VSUBPS Y4, Y1, Y1")
		t.op("VMULPS Y1, Y4, Y1")
		t.op("VMOVUPS Y4, %s", at(0))
		t.op("VMOVUPS Y1, %s", at(1))
	})
	t.vectors("gelu8", args, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VMOVUPS %s, Y8", curveWord("10"))
		t.op("VMINPS Y0, Y8, Y8")
		t.op("VMOVUPS %s, Y9", curveWord("-10"))
		t.op("VMAXPS Y8, Y9, Y8") // c; NaN stays
		t.op("VMULPS Y8, Y8, Y9") // q
		t.op("VMOVUPS %s, Y10", constant("1"))
		t.op("VMULPS %s, Y9, Y2", curveWord("b"))
		t.op("VADDPS Y2, Y10, Y2")
		t.op("VMULPS %s, Y8, Y3", curveWord("a"))
		t.op("VMULPS Y3, Y2, Y2")
		tanhOf(t)
		t.op("VMULPS %s, Y9, Y2", curveWord("3b"))
		t.op("VADDPS Y2, Y10, Y2")
		t.op("VMULPS %s, Y2, Y2", curveWord("a")) // slope
		t.op("VMULPS Y1, Y1, Y3")
		t.op("VSUBPS Y3, Y10, Y3")
		t.op("VMULPS Y2, Y3, Y3") // (1-t^2) slope
		t.op("VADDPS Y1, Y10, Y1")
		t.op("VMULPS %s, Y1, Y1", curveWord("half"))
		t.op("VMULPS %s, Y8, Y8", curveWord("half"))
		t.op("VMULPS Y3, Y8, Y3")
		t.op("VADDPS Y3, Y1, Y3")
		t.op("VMULPS Y1, Y0, Y1")
		t.op("VMOVUPS Y1, %s", at(0))
		t.op("VMOVUPS Y3, %s", at(1))
	})
	t.WriteByte('\n')
	for i, c := range curveWords {
		for j := range 4 {
			fmt.Fprintf(t, "DATA ·curves+%d(SB)/8, $%#x\n", 32*i+8*j, uint64(c.bits)<<32|uint64(c.bits))
		}
	}
	fmt.Fprintf(t, "GLOBL ·curves(SB), RODATA|NOPTR, $%d\n", 32*len(curveWords))
}

// tanhOf computes the Tanh of Y2 into Y1. It uses Y2 to Y7.
func tanhOf(t *text) {
	t.op("VADDPS Y2, Y2, Y2")
	t.op("VMOVUPS %s, Y3", constant("limit"))
	t.op("VMINPS Y2, Y3, Y3")
	t.op("VMOVUPS %s, Y4", curveWord("-20"))
	t.op("VMAXPS Y3, Y4, Y3") // NaN stays
	exponential(t)
	t.op("VMOVUPS %s, Y1", constant("1"))
	t.op("VADDPS Y4, Y1, Y4")
	t.op("VMOVUPS %s, Y2", constant("2"))
	t.op("VDIVPS Y4, Y2, Y2")
	t.op("VSUBPS Y2, Y1, Y1")
}

// exponential computes the Exp of Y3, which is at most 88, into Y4. It uses Y1 and Y5 to
// Y7.
func exponential(t *text) {
	t.op("VMOVUPS %s, Y4", constant("low"))
	t.op("VCMPPS $0x11, Y4, Y3, Y7") // below: 0
	t.op("VMAXPS Y3, Y4, Y4")        // NaN stays
	t.op("VMULPS %s, Y4, Y5", constant("log2e"))
	t.op("VADDPS %s, Y5, Y5", constant("round"))
	t.op("VSUBPS %s, Y5, Y6", constant("round"))
	t.op("VPSUBD %s, Y5, Y5", constant("shift"))
	t.op("VMULPS %s, Y6, Y1", constant("ln2high"))
	t.op("VSUBPS Y1, Y4, Y4")
	t.op("VMULPS %s, Y6, Y1", constant("ln2low"))
	t.op("VSUBPS Y1, Y4, Y4")
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
	t.op("VANDNPS Y1, Y7, Y4")
}
