package main

import "fmt"

// sumsFile writes the weighted sums of eight rows at a time. Each element is one chain of
// products and additions in float64, unfused, as the Go twin's.
func sumsFile() []byte {
	t := assembly()
	sumRows(t, "sumRows512", 8, func(t *text, r int, w string) {
		for h := range 2 {
			t.op("VMULPD.BCST %s, Z%d, Z%d", w, 16+h, 18+h)
			t.op("VADDPD Z%d, Z%d, Z%[2]d", 18+h, 2*r+h)
		}
	})
	sumRows(t, "sumRows256", 4, func(t *text, r int, w string) {
		t.op("VBROADCASTSD %s, Y10", w)
		for h := range 2 {
			t.op("VMULPD Y10, Y%d, Y%d", 8+h, 11+h)
			t.op("VADDPD Y%d, Y%d, Y%[2]d", 11+h, 2*r+h)
		}
	})
	return t.Bytes()
}

// sumRows writes a kernel of so many rows, with two registers a row; add writes what adds
// a vector's two registers, times a weight, to those of row r. Rows are stored from the
// last to the first.
func sumRows(t *text, name string, rows int, add func(t *text, r int, w string)) {
	vec, x, wide, zero := "Z", 16, 64, "VPXORQ" // registers, the first of a vector, bytes of a register
	if rows == 4 {
		vec, x, wide, zero = "Y", 8, 32, "VXORPS"
	}
	t.function("func "+name+"(dsts, xs *Vec, weights *float64, terms, offset, blocks int)", name, 48)
	t.op("MOVQ dsts+0(FP), DI")
	t.op("MOVQ xs+8(FP), SI")
	t.op("MOVQ weights+16(FP), R8")
	t.op("MOVQ terms+24(FP), R9")
	t.op("MOVQ offset+32(FP), R10")
	t.op("MOVQ blocks+40(FP), CX")
	t.label("block")
	for k := range 2 * rows {
		t.op("%s %s%d, %[2]s%[3]d, %[2]s%[3]d", zero, vec, k)
	}
	t.op("MOVQ SI, R11")
	t.op("MOVQ R8, R12")
	t.op("MOVQ R9, DX")
	t.label("term")
	t.op("MOVQ (R11), AX") // a Vec begins with its pointer and has 24 bytes
	for h := range 2 {
		t.op("VCVTPS2PD %d(AX)(R10*1), %s%d", h*wide/2, vec, x+h)
	}
	for r := range rows {
		add(t, r, fmt.Sprintf("%d(R12)", 8*r))
	}
	t.op("ADDQ $24, R11")
	t.op("ADDQ $64, R12")
	t.op("DECQ DX")
	t.op("JNZ term")
	for r := rows - 1; r >= 0; r-- {
		t.op("MOVQ %d(DI), AX", 24*r)
		for h := range 2 {
			if rows == 8 {
				t.op("VCVTPD2PS Z%d, Y16", 2*r+h)
				t.op("VMOVUPS Y16, %d(AX)(R10*1)", h*wide/2)
			} else {
				t.op("VCVTPD2PSY Y%d, X8", 2*r+h)
				t.op("VMOVUPS X8, %d(AX)(R10*1)", h*wide/2)
			}
		}
	}
	t.op("ADDQ $%d, R10", wide)
	t.op("DECQ CX")
	t.op("JNZ block")
	t.end()
}
