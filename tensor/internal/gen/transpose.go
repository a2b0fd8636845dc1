package main

import "fmt"

// transposeFile writes the transpose of strips of 8 rows in blocks of 8x8. Halves of rows
// r and r+4 are loaded into one vector, so that interleaving pairs of rows, then pairs of
// pairs, leaves whole columns.
func transposeFile() []byte {
	t := assembly()
	for _, add := range []bool{false, true} {
		name := "transpose8"
		if add {
			name = "transposeAdd8"
		}
		t.function(fmt.Sprintf("func %s(dst *float32, ldd int, src *float32, lds, strips, blocks int)", name),
			name, 48)
		for _, arg := range []string{"dst+0(FP), DI", "ldd+8(FP), R8", "src+16(FP), SI", "lds+24(FP), R9",
			"strips+32(FP), CX"} {
			t.op("MOVQ %s", arg)
		}
		t.op("LEAQ (R9)(R9*2), R10")
		t.label("strip")
		t.op("MOVQ blocks+40(FP), R13")
		t.op("MOVQ SI, AX")
		t.op("LEAQ (SI)(R9*4), R11")
		t.op("MOVQ DI, BX")
		t.label("block")
		row := []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}
		for h := range 2 { // columns 0 to 3, then 4 to 7
			for r := range 4 {
				t.op("VMOVUPS %d(AX)%s, X%d", 16*h, row[r], r)
				t.op("VINSERTF128 $1, %d(R11)%s, Y%d, Y%[3]d", 16*h, row[r], r)
			}
			for i := range 2 { // Y4..Y7: pairs of rows, columns 0 and 1, then 2 and 3
				t.op("VUNPCKLPS Y%d, Y%d, Y%d", 2*i+1, 2*i, 4+i)
				t.op("VUNPCKHPS Y%d, Y%d, Y%d", 2*i+1, 2*i, 6+i)
			}
			for c := range 4 {
				t.op("VSHUFPS %s, Y%d, Y%d, Y%d", []string{"$0x44", "$0xee"}[c%2], 5+2*(c/2), 4+2*(c/2), 8+c)
				if add {
					t.op("VADDPS (BX), Y%d, Y%[1]d", 8+c)
				}
				t.op("VMOVUPS Y%d, (BX)", 8+c)
				t.op("ADDQ R8, BX")
			}
		}
		t.op("ADDQ $32, AX")
		t.op("ADDQ $32, R11")
		t.op("DECQ R13")
		t.op("JNZ block")
		t.op("LEAQ (SI)(R9*8), SI")
		t.op("ADDQ $32, DI")
		t.op("DECQ CX")
		t.op("JNZ strip")
		t.end()
	}
	return t.Bytes()
}
