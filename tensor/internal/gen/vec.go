package main

// vecFile writes the kernels on flat vectors. Each does the operations of its Go twin,
// unfused, so that bits agree.
func vecFile() []byte {
	t := assembly()
	scaleToward(t)
	addScaled(t)
	accumulate(t)
	narrow(t)
	return t.Bytes()
}

// scaleToward multiplies in float64, rounds to float32 and takes one off the bits where
// that is larger in size.
func scaleToward(t *text) {
	t.function("func scaleToward8(x *float32, f float64, blocks int)", "scaleToward8", 24)
	t.op("MOVQ x+0(FP), DI")
	t.op("VBROADCASTSD f+8(FP), Y15")
	t.op("MOVQ blocks+16(FP), CX")
	t.op("VPCMPEQD Y14, Y14, Y14")
	t.op("VPSRLQ $1, Y14, Y14") // all bits but the sign
	t.label("loop")
	for i := range 2 {
		t.op("VCVTPS2PD %d(DI), Y%d", 16*i, i)
		t.op("VMULPD Y15, Y%d, Y%[1]d", i)
		t.op("VCVTPD2PSY Y%d, X%d", i, 2+i)
		t.op("VCVTPS2PD X%d, Y%d", 2+i, 4+i)
		t.op("VANDPD Y14, Y%d, Y%[1]d", i)
		t.op("VANDPD Y14, Y%d, Y%[1]d", 4+i)
		t.op("VCMPPD $0x1e, Y%d, Y%d, Y%[2]d", i, 4+i) // rounded > exact
		t.op("VEXTRACTF128 $1, Y%d, X6", 4+i)
		t.op("VSHUFPS $0x88, X6, X%d, X6", 4+i)
		t.op("VPADDD X6, X%d, X%[1]d", 2+i)
		t.op("VMOVUPS X%d, %d(DI)", 2+i, 16*i)
	}
	t.op("ADDQ $32, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

func addScaled(t *text) {
	t.function("func addScaled8(v, x *float32, f float32, blocks int)", "addScaled8", 32)
	t.op("MOVQ v+0(FP), DI")
	t.op("MOVQ x+8(FP), SI")
	t.op("VBROADCASTSS f+16(FP), Y15")
	t.op("MOVQ blocks+24(FP), CX")
	t.label("loop")
	t.op("VMULPS (SI), Y15, Y0")
	t.op("VADDPS (DI), Y0, Y0")
	t.op("VMOVUPS Y0, (DI)")
	t.op("ADDQ $32, SI")
	t.op("ADDQ $32, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

func accumulate(t *text) {
	t.function("func accumulate8(sums *float64, x *float32, w float64, blocks int)", "accumulate8", 32)
	t.op("MOVQ sums+0(FP), DI")
	t.op("MOVQ x+8(FP), SI")
	t.op("VBROADCASTSD w+16(FP), Y15")
	t.op("MOVQ blocks+24(FP), CX")
	t.label("loop")
	for i := range 2 {
		t.op("VCVTPS2PD %d(SI), Y%d", 16*i, i)
		t.op("VMULPD Y15, Y%d, Y%[1]d", i)
		t.op("VADDPD %d(DI), Y%d, Y%[2]d", 32*i, i)
		t.op("VMOVUPD Y%d, %d(DI)", i, 32*i)
	}
	t.op("ADDQ $32, SI")
	t.op("ADDQ $64, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

func narrow(t *text) {
	t.function("func narrow8(dst *float32, sums *float64, blocks int)", "narrow8", 24)
	t.op("MOVQ dst+0(FP), DI")
	t.op("MOVQ sums+8(FP), SI")
	t.op("MOVQ blocks+16(FP), CX")
	t.label("loop")
	for i := range 2 {
		t.op("VCVTPD2PSY %d(SI), X%d", 32*i, i)
		t.op("VMOVUPS X%d, %d(DI)", i, 16*i)
	}
	t.op("ADDQ $64, SI")
	t.op("ADDQ $32, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}
