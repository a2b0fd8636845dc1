package main

import "fmt"

// Products of bfloat16 by the dot product of AVX512_BF16, which the Go assembler does not
// know, so that it is written as bytes: EVEX prefix, opcode, operands (Intel SDM volume 2,
// 2.7.1 and VDPBF16PS).

// dotProduct adds to each float32 of c the products of the pairs of bfloat16 in a and b.
func dotProduct(t *text, b, a, c int) {
	t.bytes(fmt.Sprintf("VDPBF16PS Z%d, Z%d, Z%d", b, a, c), encodeDot(b, a, c)...)
}

// encodeDot returns EVEX.512.F3.0F38.W0 52 /r on registers. In the prefix numbers of
// registers are inverted.
func encodeDot(b, a, c int) []int {
	bit := func(n, i int) int { return ^n >> i & 1 }
	return []int{0x62,
		bit(c, 3)<<7 | bit(b, 4)<<6 | bit(b, 3)<<5 | bit(c, 4)<<4 | 2, // 0F38
		^a&15<<3 | 1<<2 | 2, // F3
		1<<6 | bit(a, 4)<<3, // 512 bits
		0x52, 0xc0 | c&7<<3 | b&7}
}

func dotFile() []byte {
	t := assembly()
	m := packed{isas[0], "dot512", dotProduct}
	m.tile(t, m.rows)
	dotPairs(t)
	dotPlain(t)
	spinDots(t)
	vendor(t)
	return t.Bytes()
}

// dotPairs interleaves pairs of rows of up to 16 elements, the first row above the
// second, which is masked by itself.
func dotPairs(t *text) {
	t.function("func dotPairs(dst *float32, step int, src *uint16, lds, pairs int, mask, second uint32)",
		"dotPairs", 48)
	for _, arg := range []string{"dst+0(FP), DI", "step+8(FP), R9", "src+16(FP), SI", "lds+24(FP), R8",
		"pairs+32(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	for i, arg := range []string{"mask+40(FP), AX", "second+44(FP), AX"} {
		t.op("MOVL %s", arg)
		t.op("KMOVW AX, K%d", 1+i)
	}
	t.label("loop")
	t.op("PREFETCHT0 (SI)(R8*8)")
	t.op("VPMOVZXWD.Z (SI), K1, Z0")
	t.op("VPMOVZXWD.Z (SI)(R8*1), K2, Z1")
	t.op("VPSLLD $16, Z0, Z0")
	t.op("VPORD Z1, Z0, Z0")
	t.op("VMOVDQU32 Z0, (DI)")
	t.op("LEAQ (SI)(R8*2), SI")
	t.op("ADDQ R9, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// dotPlain spreads a row over one row of blocks of 16x16 pairs, the first element of each
// pair above the second.
func dotPlain(t *text) {
	t.function("func dotPlain(dst *float32, src *uint16, blocks int, tail uint32)", "dotPlain", 28)
	for _, arg := range []string{"dst+0(FP), DI", "src+8(FP), SI", "blocks+16(FP), CX"} {
		t.op("MOVQ %s", arg)
	}
	t.op("MOVL tail+24(FP), AX")
	t.op("KMOVD AX, K1")
	t.op("TESTQ CX, CX")
	t.op("JZ tail")
	t.label("loop")
	t.op("VPROLD $16, (SI), Z0")
	t.op("VMOVDQU32 Z0, (DI)")
	t.op("ADDQ $64, SI")
	t.op("ADDQ $1024, DI")
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.label("tail")
	t.op("TESTL AX, AX")
	t.op("JZ done")
	t.op("VMOVDQU16.Z (SI), K1, Z0")
	t.op("VPROLD $16, Z0, Z0")
	t.op("VMOVDQU32 Z0, (DI)")
	t.label("done")
	t.end()
}

// spinDots is peak for dot products.
func spinDots(t *text) {
	t.function("func spinDots(rounds int)", "spinDots", 8)
	t.op("MOVQ rounds+0(FP), CX")
	for i := range 14 {
		t.op("VXORPS Y%[1]d, Y%[1]d, Y%[1]d", i)
	}
	t.label("loop")
	for i := range 24 {
		dotProduct(t, 12, 13, i%12)
	}
	t.op("DECQ CX")
	t.op("JNZ loop")
	t.end()
}

// vendor writes the processor's maker, in the order in which the letters are read.
func vendor(t *text) {
	t.function("func vendor() (first, second, third uint32)", "vendor", 12)
	t.op("XORL AX, AX")
	t.op("XORL CX, CX")
	t.op("CPUID")
	t.op("MOVL BX, first+0(FP)")
	t.op("MOVL DX, second+4(FP)")
	t.op("MOVL CX, third+8(FP)")
	t.op("RET")
}
