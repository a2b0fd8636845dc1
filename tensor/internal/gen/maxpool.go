package main

import (
	"fmt"
	"strings"
)

// maxPoolFile writes max-pooling and its gradient, 8 channels at a time.
func maxPoolFile() []byte {
	t := assembly()
	maxPool(t)
	addMaxPool(t)
	maxPool2(t)
	addMaxPool2(t)
	t.WriteString("\nDATA ·one+0(SB)/4, $1\nGLOBL ·one(SB), RODATA|NOPTR, $4\n")
	return t.Bytes()
}

// window writes the loops over positions, blocks of channels, kernel rows and columns. SI
// walks over x, R12 over a patch; BX is the offset of a block in y, at and x; Y5 counts
// the places. Y7 holds ones.
func window(t *text, begin, each, finish func()) {
	for _, arg := range []string{"n+24(FP), CX", "step+32(FP), R10", "kernel+48(FP), DX", "pixel+56(FP), R9",
		"row+64(FP), R11"} {
		t.op("MOVQ %s", arg)
	}
	t.op("VPBROADCASTD ·one(SB), Y7")
	t.label("position")
	t.op("XORQ BX, BX")
	t.label("block")
	t.op("LEAQ (SI)(BX*1), R12")
	begin()
	t.op("VPXOR Y5, Y5, Y5")
	t.op("MOVQ DX, R13")
	t.label("kernelrow")
	t.op("MOVQ R12, R15")
	t.op("MOVQ DX, AX")
	t.label("kernelcol")
	each()
	t.op("VPADDD Y7, Y5, Y5")
	t.op("ADDQ R9, R15")
	t.op("DECQ AX")
	t.op("JNZ kernelcol")
	t.op("ADDQ R11, R12")
	t.op("DECQ R13")
	t.op("JNZ kernelrow")
	finish()
	t.op("ADDQ $32, BX")
	t.op("MOVQ blocks+40(FP), AX")
	t.op("SHLQ $5, AX")
	t.op("CMPQ BX, AX")
	t.op("JLT block")
	t.op("ADDQ R10, SI")
	t.op("ADDQ R9, DI")
	t.op("ADDQ R9, R8")
	t.op("DECQ CX")
	t.op("JNZ position")
	t.end()
}

func maxPool(t *text) {
	t.function("func maxPool8(y *float32, at *int32, x *float32, n, step, blocks, kernel, pixel, row int)",
		"maxPool8", 72)
	t.op("MOVQ y+0(FP), DI")
	t.op("MOVQ at+8(FP), R8")
	t.op("MOVQ x+16(FP), SI")
	window(t, func() {
		t.op("VMOVUPS (R12), Y0")
		t.op("VPXOR Y1, Y1, Y1")
	}, func() {
		t.op("VMOVUPS (R15), Y2")
		t.op("VCMPPS $0x1e, Y0, Y2, Y3") // greater
		t.op("VCMPPS $0x03, Y2, Y2, Y4") // or NaN
		t.op("VORPS Y4, Y3, Y3")
		t.op("VBLENDVPS Y3, Y2, Y0, Y0")
		t.op("VBLENDVPS Y3, Y5, Y1, Y1")
	}, func() {
		t.op("VMOVUPS Y0, (DI)(BX*1)")
		t.op("VMOVDQU Y1, (R8)(BX*1)")
	})
}

func addMaxPool(t *text) {
	t.function("func addMaxPool8(x, dy *float32, at *int32, n, step, blocks, kernel, pixel, row int)",
		"addMaxPool8", 72)
	t.op("MOVQ x+0(FP), SI")
	t.op("MOVQ dy+8(FP), DI")
	t.op("MOVQ at+16(FP), R8")
	window(t, func() {
		t.op("VMOVUPS (DI)(BX*1), Y0")
		t.op("VMOVDQU (R8)(BX*1), Y1")
	}, func() {
		t.op("VPCMPEQD Y5, Y1, Y2")
		t.op("VANDPS Y0, Y2, Y2")
		t.op("VADDPS (R15), Y2, Y2")
		t.op("VMOVUPS Y2, (R15)")
	}, func() {})
}

// The kernel of side 2 once more, without loops over the patch. R12 and R13 are its rows.

func window2(t *text, name string, pointers []string, each func()) {
	t.function(fmt.Sprintf("func %s(%s, n, step, blocks, pixel, row int)", name,
		strings.Join(pointers, ", ")), name, 64)
	for i, r := range []string{"DI", "R8", "SI"} {
		if strings.HasPrefix(name, "add") {
			r = []string{"SI", "DI", "R8"}[i]
		}
		t.op("MOVQ %s+%d(FP), %s", strings.Fields(pointers[i])[0], 8*i, r)
	}
	for _, arg := range []string{"n+24(FP), CX", "step+32(FP), R10", "blocks+40(FP), DX", "pixel+48(FP), R9",
		"row+56(FP), R11"} {
		t.op("MOVQ %s", arg)
	}
	t.op("SHLQ $5, DX")
	t.op("VPBROADCASTD ·one(SB), Y8")
	t.op("VPADDD Y8, Y8, Y9")
	t.op("VPADDD Y8, Y9, Y10")
	t.label("position")
	t.op("XORQ BX, BX")
	t.label("block")
	t.op("LEAQ (SI)(BX*1), R12")
	t.op("LEAQ (R12)(R11*1), R13")
	each()
	t.op("ADDQ $32, BX")
	t.op("CMPQ BX, DX")
	t.op("JLT block")
	t.op("ADDQ R10, SI")
	t.op("ADDQ R9, DI")
	t.op("ADDQ R9, R8")
	t.op("DECQ CX")
	t.op("JNZ position")
	t.end()
}

var corners = []string{"(R12)", "(R12)(R9*1)", "(R13)", "(R13)(R9*1)"}

func maxPool2(t *text) {
	window2(t, "maxPool2", []string{"y *float32", "at *int32", "x *float32"}, func() {
		t.op("VMOVUPS (R12), Y0")
		t.op("VPXOR Y1, Y1, Y1")
		for i, at := range corners[1:] {
			t.op("VMOVUPS %s, Y2", at)
			t.op("VCMPPS $0x1e, Y0, Y2, Y3") // greater
			t.op("VCMPPS $0x03, Y2, Y2, Y4") // or NaN
			t.op("VORPS Y4, Y3, Y3")
			t.op("VBLENDVPS Y3, Y2, Y0, Y0")
			t.op("VBLENDVPS Y3, Y%d, Y1, Y1", 8+i)
		}
		t.op("VMOVUPS Y0, (DI)(BX*1)")
		t.op("VMOVDQU Y1, (R8)(BX*1)")
	})
}

func addMaxPool2(t *text) {
	window2(t, "addMaxPool2", []string{"x *float32", "dy *float32", "at *int32"}, func() {
		t.op("VMOVUPS (DI)(BX*1), Y0")
		t.op("VMOVDQU (R8)(BX*1), Y1")
		t.op("VPXOR Y5, Y5, Y5")
		for i, at := range corners {
			place := 5
			if i > 0 {
				place = 7 + i
			}
			t.op("VPCMPEQD Y%d, Y1, Y2", place)
			t.op("VANDPS Y0, Y2, Y2")
			t.op("VADDPS %s, Y2, Y2", at)
			t.op("VMOVUPS Y2, %s", at)
		}
	})
}
