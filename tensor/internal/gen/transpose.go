package main

import "fmt"

// transposeFile writes the transpose of strips of 8 rows in blocks of 8x8: pairs of rows are interleaved, then pairs of pairs,
// then halves.
func transposeFile() []byte {
	t := assembly()
	for _, add := range []bool{false, true} {
		name := "transpose8"
		if add {
			name = "transposeAdd8"
		}
		t.function(fmt.Sprintf("func %s(dst *float32, ldd int, src *float32, lds, blocks int)", name), name, 40)
		for _, arg := range []string{"dst+0(FP), DI", "ldd+8(FP), R8", "src+16(FP), SI", "lds+24(FP), R9", "blocks+32(FP), CX"} {
			t.op("MOVQ %s", arg)
		}
		t.op("LEAQ (R9)(R9*2), R10")
		t.op("LEAQ (SI)(R9*4), R11")
		t.label("loop")
		for r := range 8 {
			t.op("VMOVUPS (%s)%s, Y%d", []string{"SI", "R11"}[r/4], []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[r%4], r)
		}
		for i := 0; i < 8; i += 2 { // Y8..Y15: pairs of rows
			t.op("VUNPCKLPS Y%d, Y%d, Y%d", i+1, i, 8+i)
			t.op("VUNPCKHPS Y%d, Y%d, Y%d", i+1, i, 9+i)
		}
		for h := range 2 { // Y0..Y7: four rows, columns c and c+4
			lo, hi, to := 8+4*h, 10+4*h, 4*h
			for c := range 4 {
				imm := []string{"$0x44", "$0xee"}[c%2]
				t.op("VSHUFPS %s, Y%d, Y%d, Y%d", imm, hi+c/2, lo+c/2, to+c)
			}
		}
		for c := range 8 {
			imm := []string{"$0x20", "$0x31"}[c/4]
			t.op("VPERM2F128 %s, Y%d, Y%d, Y8", imm, 4+c%4, c%4)
			if add {
				t.op("VADDPS (DI), Y8, Y8")
			}
			t.op("VMOVUPS Y8, (DI)")
			t.op("ADDQ R8, DI")
		}
		t.op("ADDQ $32, SI")
		t.op("ADDQ $32, R11")
		t.op("DECQ CX")
		t.op("JNZ loop")
		t.end()
	}
	return t.Bytes()
}
