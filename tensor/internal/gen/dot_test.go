package main

import (
	"regexp"
	"slices"
	"testing"
)

// The encodings are those of LLVM's assembler (llvm-mc -show-encoding) for VDPBF16PS with
// each operand in each quarter of the registers.
func TestDotEncoding(t *testing.T) {
	for _, x := range []struct {
		b, a, c int
		want    []int
	}{
		{4, 5, 6, []int{0x62, 0xf2, 0x56, 0x48, 0x52, 0xf4}},
		{28, 29, 30, []int{0x62, 0x02, 0x16, 0x40, 0x52, 0xf4}},
		{30, 28, 0, []int{0x62, 0x92, 0x1e, 0x40, 0x52, 0xc6}},
		{31, 29, 27, []int{0x62, 0x02, 0x16, 0x40, 0x52, 0xdf}},
		{30, 29, 15, []int{0x62, 0x12, 0x16, 0x40, 0x52, 0xfe}},
		{12, 21, 17, []int{0x62, 0xc2, 0x56, 0x40, 0x52, 0xcc}},
		{20, 10, 9, []int{0x62, 0x32, 0x2e, 0x48, 0x52, 0xcc}},
	} {
		if got := encodeDot(x.b, x.a, x.c); !slices.Equal(got, x.want) {
			t.Errorf("VDPBF16PS Z%d, Z%d, Z%d is %#x, want %#x", x.b, x.a, x.c, got, x.want)
		}
	}
}

// The tile of dot products is the packed tile of the same height, which runs on every
// machine with AVX-512, but for the instruction.
func TestDotTileIsThePackedTile(t *testing.T) {
	tile := func(name string, add func(t *text, b, a, c int)) string {
		out := assembly()
		packed{isas[0], name, add}.tile(out, 14)
		return out.String()
	}
	dots := regexp.MustCompile(`BYTE .* // VDPBF16PS`).ReplaceAllString(tile("tile", dotProduct), "VFMADD231PS")
	if dots != tile("tile", multiplyAdd) {
		t.Error("the tiles differ in more than the instruction")
	}
}
