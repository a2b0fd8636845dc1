package main

// scaleFile writes the kernels that move whole vectors through: scaling, the search for
// elements that are not finite, copies of rows.
func scaleFile() []byte {
	t := assembly()
	scale(t)
	finite(t)
	copyRow(t)
	return t.Bytes()
}

func scale(t *text) {
	t.function("func scale8(v, x *float32, f float32, blocks int)", "scale8", 32)
	t.op("MOVQ v+0(FP), DI")
	t.op("MOVQ x+8(FP), SI")
	t.op("VBROADCASTSS f+16(FP), Y15")
	t.op("MOVQ blocks+24(FP), CX")
	t.label("loop")
	t.op("VMULPS (SI), Y15, Y0")
	t.op("VMOVUPS Y0, (DI)")
	t.op("ADDQ $32, SI")
	t.op("ADDQ $32, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// finite collects the bits of x-x, which are zero for a finite x and those of a NaN for
// others.
func finite(t *text) {
	t.function("func finite8(x *float32, blocks int) bool", "finite8", 17)
	t.op("MOVQ x+0(FP), SI")
	t.op("MOVQ blocks+8(FP), CX")
	t.op("VPXOR Y15, Y15, Y15")
	t.label("loop")
	t.op("VMOVUPS (SI), Y0")
	t.op("VSUBPS Y0, Y0, Y0")
	t.op("VPOR Y0, Y15, Y15")
	t.op("ADDQ $32, SI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.op("VPSLLD $1, Y15, Y15") // rounding down makes x-x a negative zero
	t.op("VPTEST Y15, Y15")
	t.op("SETEQ ret+16(FP)")
	t.end()
}

// copyRow copies 16 elements a round and asks for as many of next.
func copyRow(t *text) {
	t.function("func copyRow16(dst, src, next *float32, blocks int)", "copyRow16", 32)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "next+16(FP), DX", "blocks+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.label("loop")
	t.op("PREFETCHT0 (DX)")
	t.op("VMOVUPS (SI), Y0")
	t.op("VMOVUPS 32(SI), Y1")
	t.op("VMOVUPS Y0, (DI)")
	t.op("VMOVUPS Y1, 32(DI)")
	for _, r := range []string{"SI", "DI", "DX"} {
		t.op("ADDQ $64, %s", r)
	}
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}
