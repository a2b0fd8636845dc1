package main

import "fmt"

// normFile writes the kernels of normalisation, unfused in float32, so that bits are
// those of Go.
func normFile() []byte {
	t := assembly()
	channelSums(t)
	rowSquares(t)
	t.vectors("normalize8", []string{"y", "x", "shift", "scale", "offset"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VSUBPS %s, Y0, Y0", at(2))
		t.op("VMULPS %s, Y0, Y0", at(3))
		t.op("VADDPS %s, Y0, Y0", at(4))
		t.op("VMOVUPS Y0, %s", at(0))
	})
	t.vectors("normalizeGradient8", []string{"dx", "dy", "x", "shift", "a", "b", "k"}, "",
		func(at func(int) string) {
			t.op("VMOVUPS %s, Y0", at(1))
			t.op("VMULPS %s, Y0, Y0", at(4))
			t.op("VMOVUPS %s, Y1", at(2))
			t.op("VSUBPS %s, Y1, Y1", at(3))
			t.op("VMULPS %s, Y1, Y1", at(5))
			t.op("VADDPS Y1, Y0, Y0")
			t.op("VADDPS %s, Y0, Y0", at(6))
			t.op("VMOVUPS Y0, %s", at(0))
		})
	return t.Bytes()
}

// vectors writes a function of pointers that step together through blocks of 8 elements.
// scalar, if any, names a float32 argument before blocks, broadcast to Y15. Y14 holds
// zeros.
func (t *text) vectors(name string, args []string, scalar string, body func(at func(int) string)) {
	registers := []string{"DI", "SI", "DX", "R8", "R9", "R10", "R11"}
	list, bytes := "", 8*len(args)
	for i, a := range args {
		if list += a; i+1 < len(args) {
			list += ", "
		}
	}
	list += " *float32"
	blocks := bytes
	if scalar != "" {
		list += ", " + scalar + " float32"
		blocks += 8
	}
	t.function(fmt.Sprintf("func %s(%s, blocks int)", name, list), name, blocks+8)
	for i, a := range args {
		t.op("MOVQ %s+%d(FP), %s", a, 8*i, registers[i])
	}
	if scalar != "" {
		t.op("VBROADCASTSS %s+%d(FP), Y15", scalar, bytes)
	}
	t.op("MOVQ blocks+%d(FP), CX", blocks)
	t.op("XORQ AX, AX")
	t.op("VXORPS Y14, Y14, Y14")
	t.label("loop")
	body(func(i int) string { return fmt.Sprintf("(%s)(AX*1)", registers[i]) })
	t.op("ADDQ $32, AX")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// channelSums adds in float64: products of two float32 are exact there, so fusing changes
// nothing.
func channelSums(t *text) {
	t.function("func channelSums8(sums, products *float64, a, x *float32, stride, rows int)", "channelSums8",
		48)
	for _, arg := range []string{"sums+0(FP), DI", "products+8(FP), DX", "a+16(FP), SI", "x+24(FP), R8",
		"stride+32(FP), R9", "rows+40(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for i := range 2 {
		t.op("VMOVUPD %d(DI), Y%d", 32*i, i)
		t.op("VMOVUPD %d(DX), Y%d", 32*i, 2+i)
	}
	t.label("loop")
	for i := range 2 {
		t.op("VCVTPS2PD %d(SI), Y%d", 16*i, 4+i)
		t.op("VCVTPS2PD %d(R8), Y%d", 16*i, 6+i)
		t.op("VADDPD Y%d, Y%d, Y%[2]d", 4+i, i)
		t.op("VFMADD231PD Y%d, Y%d, Y%d", 4+i, 6+i, 2+i)
	}
	t.op("ADDQ R9, SI")
	t.op("ADDQ R9, R8")
	t.op("DECQ CX")
	t.op("JNZ loop")
	for i := range 2 {
		t.op("VMOVUPD Y%d, %d(DI)", i, 32*i)
		t.op("VMOVUPD Y%d, %d(DX)", 2+i, 32*i)
	}
	t.end()
}

// rowSquares has the order of sumSquares16 and of the sum of its lanes.
func rowSquares(t *text) {
	t.function("func rowSquares16(sum *float64, x *float32, blocks int, tail *float32)", "rowSquares16", 32)
	for _, arg := range []string{"sum+0(FP), DI", "x+8(FP), SI", "blocks+16(FP), CX", "tail+24(FP), DX"} {
		t.op("MOVQ %s", arg)
	}
	for i := range 4 {
		t.op("VXORPD Y%d, Y%[1]d, Y%[1]d", i)
	}
	block := func(from string) {
		for i := range 4 {
			t.op("VCVTPS2PD %d(%s), Y%d", 16*i, from, 4+i)
			t.op("VFMADD231PD Y%d, Y%[1]d, Y%d", 4+i, i)
		}
	}
	t.op("TESTQ CX, CX")
	t.op("JZ tail")
	t.label("loop")
	block("SI")
	t.op("ADDQ $64, SI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.label("tail")
	block("DX")
	t.op("VADDPD Y2, Y0, Y0")
	t.op("VADDPD Y3, Y1, Y1")
	t.op("VADDPD Y1, Y0, Y0")
	t.op("VEXTRACTF128 $1, Y0, X1")
	t.op("VADDPD X1, X0, X0")
	t.op("VPERMILPD $1, X0, X1")
	t.op("VADDSD X1, X0, X0")
	t.op("VMOVSD X0, (DI)")
	t.end()
}
