package main

import "fmt"

// convFile writes the 5x5 convolution to three channels and its weight gradient.
func convFile() []byte {
	t := assembly()
	for vectors := 1; vectors <= 3; vectors++ {
		convolve(t, vectors)
	}
	convolveRows(t)
	patchGradient(t)
	patchGradients(t)
	largest(t)
	interleave(t)
	multiplyPlanes(t)
	sumSquares(t)
	return t.Bytes()
}

// convolve computes 8*vectors neighbouring positions of three planes. Y0.. are the
// accumulators, plane by plane.
func convolve(t *text, vectors int) {
	name := fmt.Sprintf("convolve%d", 8*vectors)
	t.function(fmt.Sprintf("func %s(dst *float32, plane int, x *float32, width, area, channels int, "+
		"filter, bias *float32)", name), name, 64)
	for _, arg := range []string{
		"dst+0(FP), DI", "plane+8(FP), R8", "x+16(FP), SI", "width+24(FP), R9", "area+32(FP), R10",
		"channels+40(FP), CX",
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

// convolveRows computes 2x16 neighbouring positions of four rows of three planes.
// Accumulators are Z0 to Z23, two for each plane of each row; every vector of inputs
// serves all rows it belongs to.
func convolveRows(t *text) {
	t.function("func convolve4x32(top, bottom *float32, row, plane, second int, x *float32, width, area, "+
		"channels int, filter, bias *float32)", "convolve4x32", 88)
	for _, arg := range []string{
		"top+0(FP), DI", "bottom+8(FP), R8", "row+16(FP), R12", "plane+24(FP), R13", "second+32(FP), BX",
		"x+40(FP), SI",
		"width+48(FP), R9", "area+56(FP), R10", "channels+64(FP), CX", "filter+72(FP), DX",
		"bias+80(FP), R11",
	} {
		t.op("MOVQ %s", arg)
	}
	for i := range 24 {
		t.op("VBROADCASTSS %d(R11), Z%d", 4*(i/2%3), i)
	}
	t.label("channel")
	t.op("MOVQ SI, AX")
	for i := range 8 {
		for c := range 5 {
			a := 24 + 2*((5*i+c)%2)
			t.op("VMOVUPS %d(AX), Z%d", 4*c, a)
			t.op("VMOVUPS %d(AX)(BX*1), Z%d", 4*c, a+1)
			for row := max(0, i-4); row <= min(3, i); row++ {
				for f := range 3 {
					w := 28 + (3*row+f)%4
					t.op("VBROADCASTSS %d(DX), Z%d", 4*((5*(i-row)+c)*3+f), w)
					for v := range 2 {
						t.op("VFMADD231PS Z%d, Z%d, Z%d", a+v, w, (row*3+f)*2+v)
					}
				}
			}
		}
		t.op("ADDQ R9, AX")
	}
	t.op("ADDQ R10, SI")
	t.op("ADDQ $300, DX")
	t.op("DECQ CX")
	t.op("JNZ channel")
	for row := range 4 {
		base := []string{"DI", "R8"}[row%2]
		t.op("MOVQ %s, AX", base)
		for f := range 3 {
			t.op("VMOVUPS Z%d, (AX)", (row*3+f)*2)
			t.op("VMOVUPS Z%d, (AX)(BX*1)", (row*3+f)*2+1)
			t.op("ADDQ R13, AX")
		}
		t.op("ADDQ R12, %s", base)
	}
	t.end()
}

// patch are the addresses of the rows of a patch: AX is its first element, R9 the width
// and R10 three times that.
var patch = []string{"(AX)", "(AX)(R9*1)", "(AX)(R9*2)", "(AX)(R10*1)", "(AX)(R9*4)"}

// patchGradient sums g times five rows of five inputs, rows in Y0 to Y4, and g itself in
// X5. Only the last row needs a mask: what follows five elements of another one is in the
// image.
func patchGradient(t *text) {
	t.function("func patchGradient5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)",
		"patchGradient5", 48)
	for _, arg := range []string{
		"sums+0(FP), DI", "x+8(FP), SI", "width+16(FP), R9", "factor+24(FP), DX", "at+32(FP), R8",
		"n+40(FP), CX",
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
	for r, at := range patch[:4] {
		t.op("VFMADD231PS %s, Y6, Y%d", at, r)
	}
	t.op("VMASKMOVPS %s, Y15, Y7", patch[4])
	t.op("VFMADD231PS Y7, Y6, Y4")
	t.op("VADDSS X6, X5, X5")
	t.op("ADDQ $4, DX")
	t.op("ADDQ $4, R8")
	t.op("DECQ CX")
	t.op("JNZ loop")
	for r := range 5 {
		t.op("VMOVUPS Y%d, %d(DI)", r, 32*r)
	}
	t.op("VMOVSS X5, 160(DI)")
	t.end()
}

// patchGradients is patchGradient for three planes of n cells at once: three times as
// many chains hide their latency. Rows are in Y0 to Y14, sums of g in X16 to X18.
func patchGradients(t *text) {
	t.function(
		"func patchGradients5(sums *float32, x *float32, width int, factor *float32, at *int32, n int)",
		"patchGradients5", 48)
	for _, arg := range []string{
		"sums+0(FP), DI", "x+8(FP), SI", "width+16(FP), R9", "factor+24(FP), DX", "at+32(FP), R8",
		"n+40(FP), CX",
	} {
		t.op("MOVQ %s", arg)
	}
	t.op("LEAQ (R9)(R9*2), R10")
	t.op("MOVL $31, AX")
	t.op("KMOVW AX, K1")
	for i := range 19 {
		t.op("VPXORD Y%d, Y%[1]d, Y%[1]d", i)
	}
	t.op("MOVQ CX, R11")
	t.label("loop")
	for f := range 3 {
		at := []string{"", "(R11*4)", "(R11*8)"}[f]
		t.op("MOVLQSX (R8)%s, AX", at)
		t.op("VBROADCASTSS (DX)%s, Y%d", at, 20+f)
		t.op("LEAQ (SI)(AX*4), AX")
		for r := range 4 {
			t.op("VFMADD231PS %s, Y%d, Y%d", patch[r], 20+f, 5*f+r)
		}
		t.op("VMOVUPS.Z %s, K1, Y%d", patch[4], 24+f)
		t.op("VFMADD231PS Y%d, Y%d, Y%d", 24+f, 20+f, 5*f+4)
		t.op("VADDSS X%d, X%d, X%[2]d", 20+f, 16+f)
	}
	t.op("ADDQ $4, DX")
	t.op("ADDQ $4, R8")
	t.op("DECQ CX")
	t.op("JNZ loop")
	for f := range 3 {
		for r := range 5 {
			t.op("VMOVUPS Y%d, %d(DI)", 5*f+r, 4*(41*f+8*r))
		}
		t.op("VMOVSS X%d, %d(DI)", 16+f, 4*(41*f+40))
	}
	t.end()
}

// largest finds the largest of 8*blocks unsigned numbers.
func largest(t *text) {
	t.function("func largest8(x *int32, blocks int) uint32", "largest8", 20)
	t.op("MOVQ x+0(FP), SI")
	t.op("MOVQ blocks+8(FP), CX")
	t.op("VPXOR Y0, Y0, Y0")
	t.label("loop")
	t.op("VPMAXUD (SI), Y0, Y0")
	t.op("ADDQ $32, SI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.op("VEXTRACTI128 $1, Y0, X1")
	t.op("VPMAXUD X1, X0, X0")
	for _, imm := range []string{"$0x4e", "$0xb1"} {
		t.op("VPSHUFD %s, X0, X1", imm)
		t.op("VPMAXUD X1, X0, X0")
	}
	t.op("VMOVD X0, AX")
	t.op("MOVL AX, ret+16(FP)")
	t.end()
}

// chosen returns the blend that takes the lanes of vector k of 24 interleaved elements
// that belong to plane f.
func chosen(k, f int) int {
	mask := 0
	for lane := range 8 {
		if (8*k+lane)%3 == f {
			mask |= 1 << lane
		}
	}
	return mask
}

// interleave brings 8*blocks elements of three planes together, 8 of each at a time:
// spread in registers, then blended.
func interleave(t *text) {
	t.function("func interleave8(dst, src *float32, plane, blocks int)", "interleave8", 32)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "plane+16(FP), R8", "blocks+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for k := range 3 {
		t.op("VMOVDQU ·spread+%d(SB), Y%d", 32*k, 12+k)
	}
	t.label("loop")
	for f, at := range []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)"} {
		t.op("VMOVUPS %s, Y%d", at, f)
	}
	for k := range 3 {
		for f := range 3 {
			t.op("VPERMPS Y%d, Y%d, Y%d", f, 12+k, 3+f)
		}
		t.op("VBLENDPS $%d, Y4, Y3, Y3", chosen(k, 1))
		t.op("VBLENDPS $%d, Y5, Y3, Y3", chosen(k, 2))
		t.op("VMOVUPS Y3, %d(DI)", 32*k)
	}
	t.op("ADDQ $32, SI")
	t.op("ADDQ $96, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// multiplyPlanes multiplies 8*blocks elements of three planes with interleaved ones:
// blended into one vector for each plane, then put in order.
func multiplyPlanes(t *text) {
	t.function("func multiplyPlanes8(dst, src *float32, plane, blocks int)", "multiplyPlanes8", 32)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "plane+16(FP), R8", "blocks+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for f := range 3 {
		t.op("VMOVDQU ·gathered+%d(SB), Y%d", 32*f, 12+f)
	}
	t.label("loop")
	for k := range 3 {
		t.op("VMOVUPS %d(SI), Y%d", 32*k, k)
	}
	for f, at := range []string{"(DI)", "(DI)(R8*1)", "(DI)(R8*2)"} {
		t.op("VBLENDPS $%d, Y1, Y0, Y3", chosen(1, f))
		t.op("VBLENDPS $%d, Y2, Y3, Y3", chosen(2, f))
		t.op("VPERMPS Y3, Y%d, Y3", 12+f)
		t.op("VMULPS %s, Y3, Y3", at)
		t.op("VMOVUPS Y3, %s", at)
	}
	t.op("ADDQ $96, SI")
	t.op("ADDQ $32, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
	planeTables(t)
}

// planeTables writes where interleaved elements come from in a plane, and where a plane's
// elements are in a blend.
func planeTables(t *text) {
	var spread, gathered [24]int
	for i := range 24 {
		spread[i] = i / 3
		gathered[8*(i%3)+i/3] = i % 8
	}
	for _, table := range []struct {
		name  string
		words [24]int
	}{{"spread", spread}, {"gathered", gathered}} {
		t.WriteByte('\n')
		for i := 0; i < 24; i += 2 {
			fmt.Fprintf(t, "DATA ·%s+%d(SB)/8, $%#x\n", table.name, 4*i,
				uint64(table.words[i+1])<<32|uint64(table.words[i]))
		}
		fmt.Fprintf(t, "GLOBL ·%s(SB), RODATA|NOPTR, $96\n", table.name)
	}
}

// sumSquares adds squares to 16 sums in float64 and adds those by halves. Without lanes
// in memory the sums begin at 0: reading what was just cleared would wait.
func sumSquares(t *text) {
	t.function("func sumSquares16(lanes *float64, x *float32, blocks, more int) float64", "sumSquares16", 40)
	for _, arg := range []string{"lanes+0(FP), DI", "x+8(FP), SI", "blocks+16(FP), CX", "more+24(FP), DX"} {
		t.op("MOVQ %s", arg)
	}
	for i := range 4 {
		t.op("VXORPD Y%d, Y%[1]d, Y%[1]d", i)
	}
	t.op("TESTQ DI, DI")
	t.op("JZ begun")
	for i := range 4 {
		t.op("VMOVUPD %d(DI), Y%d", 32*i, i)
	}
	t.label("begun")
	t.op("TESTQ CX, CX")
	t.op("JZ rest")
	t.label("loop")
	for i := range 4 {
		t.op("VCVTPS2PD %d(SI), Y%d", 16*i, 4+i)
		t.op("VFMADD231PD Y%d, Y%[1]d, Y%d", 4+i, i)
	}
	t.op("ADDQ $64, SI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.label("rest")
	t.op("TESTQ DX, DX")
	t.op("JZ sum")
	t.op("LEAQ ·rest+64(SB), AX")
	t.op("SHLQ $2, DX")
	t.op("SUBQ DX, AX")
	for i := range 4 {
		t.op("VMOVUPS %d(AX), X8", 16*i)
		t.op("VMASKMOVPS %d(SI), X8, X8", 16*i)
		t.op("VCVTPS2PD X8, Y4")
		t.op("VFMADD231PD Y4, Y4, Y%d", i)
	}
	t.label("sum")
	t.op("TESTQ DI, DI")
	t.op("JZ halves")
	for i := range 4 {
		t.op("VMOVUPD Y%d, %d(DI)", i, 32*i)
	}
	t.label("halves")
	t.op("VADDPD Y2, Y0, Y0")
	t.op("VADDPD Y3, Y1, Y1")
	t.op("VADDPD Y1, Y0, Y0")
	t.op("VEXTRACTF128 $1, Y0, X1")
	t.op("VADDPD X1, X0, X0")
	t.op("VUNPCKHPD X0, X0, X1")
	t.op("VADDSD X1, X0, X0")
	t.op("VMOVSD X0, ret+32(FP)")
	t.end()
	t.WriteString("\n// 16 set words, 16 clear ones\n")
	for i := range 16 {
		word := uint64(0)
		if i < 8 {
			word = 1<<64 - 1
		}
		fmt.Fprintf(t, "DATA ·rest+%d(SB)/8, $%#x\n", 8*i, word)
	}
	t.WriteString("GLOBL ·rest(SB), RODATA|NOPTR, $128\n")
}
