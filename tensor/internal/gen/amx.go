package main

import (
	"fmt"
	"strings"
)

// The Go assembler does not know the tile instructions (Intel SDM volume 2), so they are
// written as bytes: VEX prefix of three bytes, opcode, operands.

// gpr are the numbers of registers in addresses.
var gpr = map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7, "R8": 8, "R9": 9, "R10": 10,
	"R14": 14}

const ( // the mandatory prefix in a VEX prefix
	prefixF3 = 2
	prefixF2 = 3
)

func (t *text) bytes(comment string, bytes ...int) {
	words := make([]string, len(bytes))
	for i, b := range bytes {
		words[i] = fmt.Sprintf("BYTE $%#02x", b)
	}
	t.op("%s // %s", strings.Join(words, "; "), comment)
}

// tileMemory moves tile n from or to rows that begin at base and are stride bytes apart.
func (t *text) tileMemory(name string, prefix, n int, base, stride string) {
	b, s := gpr[base], gpr[stride]
	t.bytes(fmt.Sprintf("%s T%d, (%s)(%s*1)", name, n, base, stride),
		0xc4, 0x82|(^s&8)<<3|(^b&8)<<2, 0x78|prefix, 0x4b, n<<3|4, s&7<<3|b&7)
}

func (t *text) tileLoad(n int, base, stride string) {
	t.tileMemory("TILELOADD", prefixF2, n, base, stride)
}

func (t *text) tileStore(n int, base, stride string) {
	t.tileMemory("TILESTORED", prefixF3, n, base, stride)
}

func (t *text) tileZero(n int) {
	t.bytes(fmt.Sprintf("TILEZERO T%d", n), 0xc4, 0xe2, 0x78|prefixF2, 0x49, 0xc0|n<<3)
}

// tileProduct adds the product of tiles a and b to tile c.
func (t *text) tileProduct(c, a, b int) {
	t.bytes(fmt.Sprintf("TDPBF16PS T%d, T%d, T%d", c, a, b), 0xc4, 0xe2, ^b&15<<3|prefixF3, 0x5c, 0xc0|c<<3|a)
}

func amxFile() []byte {
	t := assembly()
	amxTiles(t)
	spinTiles(t)
	plainRow(t)
	pairRows(t)
	roundBF16(t)
	widenBF16(t)
	t.WriteString("\n// eight tiles of 16 rows of 64 bytes\n")
	for i, word := range []uint64{1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0} {
		fmt.Fprintf(t, "DATA ·tileConfig+%d(SB)/8, $%#x\n", 8*i, word)
	}
	t.WriteString("GLOBL ·tileConfig(SB), RODATA|NOPTR, $64\n")
	return t.Bytes()
}

// amxTiles computes count blocks of 32x32 of C side by side: T0 to T3 from tiles T4, T5
// of A and T6, T7 of B. Tiles are configured and released inside, so that no goroutine
// ever has any when it moves to another thread.
//
// SI, BX are the tiles of A, R14 the distance of their rows, R13 of each other, R15 of
// the next ones; DX, DI are the tiles of B; R8, R10 the upper and lower half of C, R9 the
// distance of its rows, R12 16 times that.
func amxTiles(t *text) {
	t.function("func amxTiles(c *float32, ldc int, a *float32, rows *uint16, row int, b *float32, panel, "+
		"steps, count int, add bool)", "amxTiles", 73)
	t.op("LEAQ ·tileConfig(SB), AX")
	t.bytes("LDTILECFG (AX)", 0xc4, 0xe2, 0x78, 0x49, 0)
	for _, arg := range []string{"c+0(FP), R8", "ldc+8(FP), R9", "b+40(FP), DX", "panel+48(FP), R11"} {
		t.op("MOVQ %s", arg)
	}
	t.op("MOVL $64, AX")
	t.op("MOVQ R9, R12")
	t.op("SHLQ $4, R12")
	t.op("MOVQ $64, R14") // packed
	t.op("MOVQ R11, R13")
	t.op("MOVQ $1024, R15")
	t.op("MOVQ rows+24(FP), SI")
	t.op("TESTQ SI, SI")
	t.op("JZ block")
	t.op("MOVQ SI, a+16(FP)") // in place
	t.op("MOVQ row+32(FP), R14")
	t.op("MOVQ R14, R13")
	t.op("SHLQ $4, R13")
	t.op("MOVQ $64, R15")
	t.label("block")
	t.op("MOVQ a+16(FP), SI")
	t.op("LEAQ (SI)(R13*1), BX")
	t.op("LEAQ (DX)(R11*1), DI")
	t.op("LEAQ (R8)(R12*1), R10")
	t.op("MOVQ steps+56(FP), CX")
	t.op("CMPB add+72(FP), $0")
	t.op("JEQ zero")
	corners := []string{"R8", "R10"}
	four := func(f func(n int, base, stride string)) {
		for n := range 4 {
			if n == 2 {
				t.op("ADDQ $64, R8")
				t.op("ADDQ $64, R10")
			}
			f(n%2*2+n/2, corners[n%2], "R9")
		}
		t.op("SUBQ $64, R8")
		t.op("SUBQ $64, R10")
	}
	four(t.tileLoad)
	t.op("JMP step")
	t.label("zero")
	for n := range 4 {
		t.tileZero(n)
	}
	t.label("step")
	t.tileLoad(4, "SI", "R14")
	t.tileLoad(6, "DX", "AX")
	t.tileProduct(0, 4, 6)
	t.tileLoad(7, "DI", "AX")
	t.tileProduct(1, 4, 7)
	t.tileLoad(5, "BX", "R14")
	t.tileProduct(2, 5, 6)
	t.tileProduct(3, 5, 7)
	t.op("ADDQ R15, SI")
	t.op("ADDQ R15, BX")
	t.op("ADDQ $1024, DX")
	t.op("ADDQ $1024, DI")
	t.op("DECQ CX")
	t.op("JNZ step")
	four(t.tileStore)
	t.op("ADDQ $128, R8")
	t.op("ADDQ R11, DX") // past the second panel
	t.op("DECQ count+64(FP)")
	t.op("JNZ block")
	t.bytes("TILERELEASE", 0xc4, 0xe2, 0x78, 0x49, 0xc0)
	t.end()
}

// spinTiles multiplies tiles of zeros without reading any.
func spinTiles(t *text) {
	t.function("func spinTiles(rounds int)", "spinTiles", 8)
	t.op("LEAQ ·tileConfig(SB), AX")
	t.bytes("LDTILECFG (AX)", 0xc4, 0xe2, 0x78, 0x49, 0)
	t.op("MOVQ rounds+0(FP), CX")
	t.label("loop")
	for c := range 4 {
		t.tileProduct(c, 4+c/2, 6+c%2)
	}
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.bytes("TILERELEASE", 0xc4, 0xe2, 0x78, 0x49, 0xc0)
	t.end()
}

// plainRow spreads a row over one row of each tile: 32 elements a tile.
func plainRow(t *text) {
	t.function("func plainRow(dst *float32, src *uint16, blocks int, tail uint32)", "plainRow", 28)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "blocks+16(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.op("MOVL tail+24(FP), AX")
	t.op("KMOVD AX, K1")
	t.op("TESTQ CX, CX")
	t.op("JZ tail")
	t.label("loop")
	t.op("VMOVDQU16 (SI), Z0")
	t.op("VMOVDQU16 Z0, (DI)")
	t.op("ADDQ $64, SI")
	t.op("ADDQ $1024, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.label("tail")
	t.op("TESTL AX, AX")
	t.op("JZ done")
	t.op("VMOVDQU16.Z (SI), K1, Z0")
	t.op("VMOVDQU16 Z0, (DI)")
	t.label("done")
	t.end()
}

// pairRows interleaves pairs of rows of up to 32 elements, 16 for each of two panels; the
// second row is masked by itself.
func pairRows(t *text) {
	t.function("func pairRows(dst *float32, panel int, src *uint16, lds, pairs int, mask, second uint32)",
		"pairRows", 48)
	for _, arg := range []string{"dst+0(FP), DI", "panel+8(FP), R9", "src+16(FP), SI", "lds+24(FP), R8",
		"pairs+32(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for i, arg := range []string{"mask+40(FP), AX", "second+44(FP), AX"} {
		t.op("MOVL %s", arg)
		t.op("KMOVW AX, K%d", 1+i)
		t.op("SHRL $16, AX")
		t.op("KMOVW AX, K%d", 3+i)
	}
	t.label("loop")
	t.op("PREFETCHT0 (SI)(R8*8)")
	for half, to := range []string{"(DI)", "(DI)(R9*1)"} {
		t.op("VPMOVZXWD.Z %d(SI), K%d, Z0", 32*half, 1+2*half)
		t.op("VPMOVZXWD.Z %d(SI)(R8*1), K%d, Z1", 32*half, 2+2*half)
		t.op("VPSLLD $16, Z1, Z1")
		t.op("VPORD Z1, Z0, Z0")
		t.op("VMOVDQU32 Z0, %s", to)
	}
	t.op("LEAQ (SI)(R8*2), SI")
	t.op("ADDQ $64, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// roundBF16 writes the rounding to nearest and the truncation; a NaN gets its quiet bit.
func roundBF16(t *text) {
	for _, name := range []string{"roundBF16", "truncateBF16"} {
		t.function(fmt.Sprintf("func %s(dst *uint16, src *float32, blocks int)", name), name, 24)
		for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "blocks+16(FP), CX"} {
			t.op("MOVQ %s", arg)
		}
		t.op("VPCMPEQD Y15, Y15, Y15")
		t.op("VPSRLD $31, Y15, Y14") // 1
		t.op("VPSRLD $17, Y15, Y13") // 0x7fff
		t.op("VPSLLD $22, Y14, Y12") // the quiet bit
		t.label("loop")
		for i := range 2 {
			t.op("VMOVUPS %d(SI), Y%d", 32*i, i)
			t.op("VCMPPS $3, Y%d, Y%[1]d, Y%d", i, 2+i) // NaN
			t.op("VPOR Y12, Y%d, Y%d", i, 4+i)
			if name == "roundBF16" {
				t.op("VPSRLD $16, Y%d, Y%d", i, 6+i)
				t.op("VPAND Y14, Y%d, Y%[1]d", 6+i)
				t.op("VPADDD Y13, Y%d, Y%[1]d", 6+i)
				t.op("VPADDD Y%d, Y%d, Y%[2]d", 6+i, i)
			}
			t.op("VBLENDVPS Y%d, Y%d, Y%d, Y%[3]d", 2+i, 4+i, i)
			t.op("VPSRLD $16, Y%d, Y%[1]d", i)
		}
		t.op("VPACKUSDW Y1, Y0, Y0")
		t.op("VPERMQ $0xd8, Y0, Y0")
		t.op("VMOVDQU Y0, (DI)")
		t.op("ADDQ $64, SI")
		t.op("ADDQ $32, DI")
		t.op("DECQ CX")
		t.op("JNZ loop")
		t.end()
	}
}

func widenBF16(t *text) {
	t.function("func widenBF16(dst *float32, src *uint16, blocks int)", "widenBF16", 24)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "blocks+16(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.label("loop")
	for i := range 2 {
		t.op("VPMOVZXWD %d(SI), Y%d", 16*i, i)
		t.op("VPSLLD $16, Y%d, Y%[1]d", i)
		t.op("VMOVDQU Y%d, %d(DI)", i, 32*i)
	}
	t.op("ADDQ $32, SI")
	t.op("ADDQ $64, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}
