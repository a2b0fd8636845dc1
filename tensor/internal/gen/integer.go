package main

// integerFile writes the kernel that adds truncated multiples to integers: through 32
// bits, because AVX2 converts no further.
func integerFile() []byte {
	t := assembly()
	t.function("func addTruncated8(dst *int64, x *float32, k float64, blocks int)", "addTruncated8", 32)
	t.op("MOVQ dst+0(FP), DI")
	t.op("MOVQ x+8(FP), SI")
	t.op("VBROADCASTSD k+16(FP), Y15")
	t.op("MOVQ blocks+24(FP), CX")
	t.label("loop")
	for i := range 2 {
		t.op("VCVTPS2PD %d(SI), Y%d", 16*i, i)
		t.op("VMULPD Y15, Y%d, Y%[1]d", i)
		t.op("VCVTTPD2DQY Y%d, X%[1]d", i)
		t.op("VPMOVSXDQ X%d, Y%[1]d", i)
		t.op("VPADDQ %d(DI), Y%d, Y%[2]d", 32*i, i)
		t.op("VMOVDQU Y%d, %d(DI)", i, 32*i)
	}
	t.op("ADDQ $32, SI")
	t.op("ADDQ $64, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
	return t.Bytes()
}
