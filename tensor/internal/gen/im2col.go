package main

// im2colFile writes the copying and adding of strips of patches.
func im2colFile() []byte {
	t := assembly()
	copyRuns(t)
	copyPatches(t)
	addRuns(t)
	return t.Bytes()
}

// copyRuns moves each run in vectors of 8, 32 elements a turn; the last vector ends where
// the run ends.
func copyRuns(t *text) {
	t.function("func copyRuns8(dst *float32, to int, src *float32, from, n, length int)", "copyRuns8", 48)
	for _, arg := range []string{"dst+0(FP), DI", "to+8(FP), R8", "src+16(FP), SI", "from+24(FP), R9",
		"n+32(FP), CX", "length+40(FP), DX"} {
		t.op("MOVQ %s", arg)
	}
	t.op("SHLQ $2, DX")
	t.op("SUBQ $32, DX") // where the last vector begins
	t.op("LEAQ -96(DX), R10")
	t.label("run")
	copyRun(t, "SI", "DI")
	t.op("ADDQ R8, DI")
	t.op("ADDQ R9, SI")
	t.op("DECQ CX")
	t.op("JNZ run")
	t.end()
}

// copyRun copies a run whose last vector begins DX bytes from its start; R10 is DX-96.
func copyRun(t *text, from, to string) {
	t.op("XORQ AX, AX")
	t.op("CMPQ AX, R10")
	t.op("JGT one")
	t.label("four")
	for i := range 4 {
		t.op("VMOVUPS %d(%s)(AX*1), Y%d", 32*i, from, i)
	}
	for i := range 4 {
		t.op("VMOVUPS Y%d, %d(%s)(AX*1)", i, 32*i, to)
	}
	t.op("ADDQ $128, AX")
	t.op("CMPQ AX, R10")
	t.op("JLE four")
	t.label("one")
	t.op("CMPQ AX, DX")
	t.op("JGE last")
	t.op("VMOVUPS (%s)(AX*1), Y0", from)
	t.op("VMOVUPS Y0, (%s)(AX*1)", to)
	t.op("ADDQ $32, AX")
	t.op("JMP one")
	t.label("last")
	t.op("VMOVUPS (%s)(DX*1), Y0", from)
	t.op("VMOVUPS Y0, (%s)(DX*1)", to)
}

// copyPatches copies the runs of a position one after the other.
func copyPatches(t *text) {
	t.function("func copyPatches8(dst *float32, to int, src *float32, from, pitch, n, kernel, length int)",
		"copyPatches8", 64)
	for _, arg := range []string{
		"dst+0(FP), DI", "to+8(FP), R8", "src+16(FP), SI", "from+24(FP), R9", "pitch+32(FP), R11",
		"n+40(FP), CX",
		"kernel+48(FP), BX", "length+56(FP), DX",
	} {
		t.op("MOVQ %s", arg)
	}
	t.op("SHLQ $2, DX")
	t.op("SUBQ $32, DX")
	t.op("LEAQ -96(DX), R10")
	t.label("position")
	t.op("MOVQ SI, R12")
	t.op("MOVQ DI, R13")
	t.op("MOVQ BX, R15")
	t.op("TESTQ DX, DX")
	t.op("JNZ run")
	t.label("short") // runs of one vector
	t.op("VMOVUPS (R12), Y0")
	t.op("VMOVUPS Y0, (R13)")
	t.op("ADDQ $32, R13")
	t.op("ADDQ R11, R12")
	t.op("DECQ R15")
	t.op("JNZ short")
	t.op("JMP next")
	t.label("run")
	copyRun(t, "R12", "R13")
	t.op("LEAQ 32(R13)(DX*1), R13")
	t.op("ADDQ R11, R12")
	t.op("DECQ R15")
	t.op("JNZ run")
	t.label("next")
	t.op("ADDQ R8, DI")
	t.op("ADDQ R9, SI")
	t.op("DECQ CX")
	t.op("JNZ position")
	t.end()
}

// addRuns adds each run in vectors of 8, the rest through a mask.
func addRuns(t *text) {
	t.function("func addRuns8(dst *float32, to int, src *float32, from, n, length int, mask int)", "addRuns8",
		56)
	for _, arg := range []string{
		"dst+0(FP), DI", "to+8(FP), R8", "src+16(FP), SI", "from+24(FP), R9", "n+32(FP), CX",
		"length+40(FP), DX", "mask+48(FP), R10",
	} {
		t.op("MOVQ %s", arg)
	}
	t.op("LEAQ ·masks(SB), R11")
	t.op("VMOVUPS (R11)(R10*1), Y15")
	t.op("SHLQ $2, DX")
	t.op("ANDQ $-32, DX") // the whole vectors
	t.label("run")
	t.op("XORQ AX, AX")
	t.label("vector")
	t.op("VMOVUPS (SI)(AX*1), Y0")
	t.op("VADDPS (DI)(AX*1), Y0, Y0")
	t.op("VMOVUPS Y0, (DI)(AX*1)")
	t.op("ADDQ $32, AX")
	t.op("CMPQ AX, DX")
	t.op("JLT vector")
	t.op("CMPQ R10, $32")
	t.op("JEQ next")
	t.op("VMASKMOVPS (SI)(AX*1), Y15, Y0")
	t.op("VMASKMOVPS (DI)(AX*1), Y15, Y1")
	t.op("VADDPS Y1, Y0, Y0")
	t.op("VMASKMOVPS Y0, Y15, (DI)(AX*1)")
	t.label("next")
	t.op("ADDQ R8, DI")
	t.op("ADDQ R9, SI")
	t.op("DECQ CX")
	t.op("JNZ run")
	t.end()
}
