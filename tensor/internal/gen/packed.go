package main

import "fmt"

// Tiles of two packed operands: at every step the rows of A lie side by side, 16 elements
// to a step, and so do 32 columns of B. Constant distances need no arithmetic and no
// prefetching, and four steps make one round of the loop.

const (
	packedLow   = 12 // rows of the lowest of them
	packedSteps = 4  // of one round
	packedArgs  = "c *float32, ldc int, a, b *float32, k, step, panels int, add bool"
)

func packedFile() []byte {
	t := assembly()
	m := packed{isas[0], "packed512", multiplyAdd}
	for rows := packedLow; rows <= m.rows; rows++ {
		m.tile(t, rows)
	}
	spreadRow(t)
	sideBySide(t)
	return t.Bytes()
}

// spreadRow copies a row of B to the same row of panels.
func spreadRow(t *text) {
	t.function("func spreadRow(dst *float32, step int, src *float32, panels int)", "spreadRow", 32)
	for _, arg := range []string{"dst+0(FP), DI", "step+8(FP), AX", "src+16(FP), SI", "panels+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.label("loop")
	t.op("VMOVUPS (SI), Z0")
	t.op("VMOVUPS 64(SI), Z1")
	t.op("VMOVUPS Z0, (DI)")
	t.op("VMOVUPS Z1, 64(DI)")
	t.op("ADDQ $128, SI")
	t.op("ADDQ AX, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// sideBySide copies the elements in mask of each of k rows, and asks for later ones: the
// processor does not foresee rows of which it reads so little.
func sideBySide(t *text) {
	t.function("func sideBySide(dst, src *float32, lds, k int, mask uint32)", "sideBySide", 36)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "lds+16(FP), R8", "k+24(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.op("MOVL mask+32(FP), AX")
	t.op("KMOVW AX, K1")
	t.label("loop")
	t.op("PREFETCHT0 (SI)(R8*8)")
	t.op("PREFETCHT0 56(SI)(R8*8)")
	t.op("VMOVUPS.Z (SI), K1, Z0")
	t.op("VMOVUPS Z0, (DI)")
	t.op("ADDQ R8, SI")
	t.op("ADDQ $64, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// A packed tile multiplies and adds by one instruction: c += a*b.
type packed struct {
	isa
	name string
	add  func(t *text, b, a, c int)
}

func multiplyAdd(t *text, b, a, c int) { t.op("VFMADD231PS Z%d, Z%d, Z%d", b, a, c) }

func (m packed) tile(t *text, rows int) {
	name := fmt.Sprintf("%sx%d", m.name, rows)
	t.function(fmt.Sprintf("func %s(%s)", name, packedArgs), name, 57)
	for _, arg := range []string{"c+0(FP), DI", "ldc+8(FP), R12", "b+24(FP), BX", "panels+48(FP), R9"} {
		t.op("MOVQ %s", arg)
	}
	t.label("panel")
	for _, arg := range []string{"a+16(FP), SI", "k+32(FP), R11", "BX, DX", "DI, R13"} {
		t.op("MOVQ %s", arg)
	}
	for r := range rows {
		t.op("PREFETCHT0 (R13)")
		t.op("PREFETCHT0 64(R13)")
		if r+1 < rows {
			t.op("ADDQ R12, R13")
		}
	}
	for i := range 2 * rows {
		t.op("VPXORD %[1]s, %[1]s, %[1]s", m.reg(i))
	}
	t.op("MOVQ R11, CX")
	t.op("ANDQ $%d, CX", packedSteps-1)
	t.op("SHRQ $2, R11")
	t.op("JZ rest")
	t.label("loop")
	m.steps(t, rows, packedSteps)
	t.op("DECQ R11")
	t.op("JNZ loop")
	t.label("rest")
	t.op("TESTQ CX, CX")
	t.op("JZ done")
	t.label("one")
	m.steps(t, rows, 1)
	t.op("DECQ CX")
	t.op("JNZ one")
	t.label("done")
	m.finish(t, rows)
}

// steps are steps of the inner index.
func (m packed) steps(t *text, rows, steps int) {
	for s := range steps {
		for v := range 2 {
			t.op("VMOVUPS %d(DX), %s", 128*s+64*v, m.reg(m.first+v))
		}
		for r := range rows {
			a := m.first + 2 + r%2
			t.op("VBROADCASTSS %d(SI), %s", 64*s+4*r, m.reg(a))
			for v := range 2 {
				m.add(t, m.first+v, a, 2*r+v)
			}
		}
	}
	t.op("ADDQ $%d, SI", 64*steps)
	t.op("ADDQ $%d, DX", 128*steps)
}

// finish adds the accumulators to C or stores them, and goes on to the next panel.
func (m packed) finish(t *text, rows int) {
	t.op("ADDQ step+40(FP), BX")
	t.op("MOVQ DI, R13")
	t.op("ADDQ $128, DI")
	t.op("CMPB add+56(FP), $0")
	t.op("JEQ store")
	for _, add := range []bool{true, false} {
		if !add {
			t.label("store")
		}
		for r := range rows {
			for v := range 2 {
				if add {
					t.op("VADDPS %d(R13), %[2]s, %[2]s", 64*v, m.reg(2*r+v))
				}
				t.op("VMOVUPS %s, %d(R13)", m.reg(2*r+v), 64*v)
			}
			if r+1 < rows {
				t.op("ADDQ R12, R13")
			}
		}
		t.op("DECQ R9")
		t.op("JNZ panel")
		t.end()
	}
}
