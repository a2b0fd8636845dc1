package main

import "fmt"

// convFile writes the 5x5 convolution to three channels and its weight gradient.
func convFile() []byte {
	t := assembly()
	for vectors := 1; vectors <= 3; vectors++ {
		convolve(t, vectors)
	}
	patchGradient(t)
	sumSquares(t)
	return t.Bytes()
}

// convolve computes 8*vectors neighbouring positions of three planes. Y0.. are the accumulators, plane by plane.
func convolve(t *text, vectors int) {
	name := fmt.Sprintf("convolve%d", 8*vectors)
	t.function(fmt.Sprintf("func %s(dst *float32, plane int, x *float32, width, area, channels int, filter, bias *float32)", name), name, 64)
	for _, arg := range []string{
		"dst+0(FP), DI", "plane+8(FP), R8", "x+16(FP), SI", "width+24(FP), R9", "area+32(FP), R10", "channels+40(FP), CX",
		"filter+48(FP), DX", "bias+56(FP), R11",
	} {
		t.op("MOVQ %s", arg)
	}
	for f := range 3 {
		for v := range vectors {
			t.op("VBROADCASTSS %d(R11), Y%d", 4*f, f*vectors+v)
		}
	}
	t.label("channel")
	t.op("MOVQ SI, AX")
	for r := range 5 {
		for c := range 5 {
			for v := range vectors {
				t.op("VMOVUPS %d(AX), Y%d", 4*c+32*v, 9+v)
			}
			for f := range 3 {
				t.op("VBROADCASTSS %d(DX), Y%d", 4*((5*r+c)*3+f), 12+f)
				for v := range vectors {
					t.op("VFMADD231PS Y%d, Y%d, Y%d", 9+v, 12+f, f*vectors+v)
				}
			}
		}
		if r < 4 {
			t.op("ADDQ R9, AX")
		}
	}
	t.op("ADDQ R10, SI")
	t.op("ADDQ $300, DX")
	t.op("DECQ CX")
	t.op("JNZ channel")
	for f := range 3 {
		for v := range vectors {
			t.op("VMOVUPS Y%d, %d(DI)", f*vectors+v, 32*v)
		}
		t.op("ADDQ R8, DI")
	}
	t.end()
}

// patchGradient sums g times five rows of five inputs, rows in Y0 to Y4, and g itself in X5.
func patchGradient(t *text) {
	t.function("func patchGradient5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)", "patchGradient5", 48)
	for _, arg := range []string{
		"sums+0(FP), DI", "x+8(FP), SI", "width+16(FP), R9", "factor+24(FP), DX", "at+32(FP), R8", "n+40(FP), CX",
	} {
		t.op("MOVQ %s", arg)
	}
	t.op("LEAQ (R9)(R9*2), R10")
	t.op("VMOVUPS ·masks+12(SB), Y15") // five set words
	for i := range 6 {
		t.op("VXORPS Y%d, Y%[1]d, Y%[1]d", i)
	}
	t.label("loop")
	t.op("MOVLQSX (R8), AX")
	t.op("LEAQ (SI)(AX*4), AX")
	t.op("VBROADCASTSS (DX), Y6")
	for r, at := range []string{"(AX)", "(AX)(R9*1)", "(AX)(R9*2)", "(AX)(R10*1)", "(AX)(R9*4)"} {
		t.op("VMASKMOVPS %s, Y15, Y%d", at, 7+r)
		t.op("VFMADD231PS Y%d, Y6, Y%d", 7+r, r)
	}
	t.op("VADDSS X6, X5, X5")
	t.op("ADDQ $12, DX")
	t.op("ADDQ $12, R8")
	t.op("DECQ CX")
	t.op("JNZ loop")
	for r := range 5 {
		t.op("VMOVUPS Y%d, %d(DI)", r, 32*r)
	}
	t.op("VMOVSS X5, 160(DI)")
	t.end()
}

// sumSquares adds squares to 16 sums in float64.
func sumSquares(t *text) {
	t.function("func sumSquares16(lanes *float64, x *float32, blocks int)", "sumSquares16", 24)
	for _, arg := range []string{"lanes+0(FP), DI", "x+8(FP), SI", "blocks+16(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for i := range 4 {
		t.op("VMOVUPD %d(DI), Y%d", 32*i, i)
	}
	t.label("loop")
	for i := range 4 {
		t.op("VCVTPS2PD %d(SI), Y%d", 16*i, 4+i)
		t.op("VFMADD231PD Y%d, Y%[1]d, Y%d", 4+i, i)
	}
	t.op("ADDQ $64, SI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	for i := range 4 {
		t.op("VMOVUPD Y%d, %d(DI)", i, 32*i)
	}
	t.end()
}
