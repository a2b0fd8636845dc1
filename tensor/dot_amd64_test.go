package tensor

import (
	"math"
	"math/big"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"
	"pgregory.net/rapid"
)

// A step is what one instruction of a tile does to one sum. The arguments are pairs.
type dotStepOf func(s, x, y float32) float32

func upper(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ 0xffff) }
func lower(x float32) float32 { return math.Float32frombits(math.Float32bits(x) << 16) }

// manual is VDPBF16PS as the manual has it.
func manual(s, x, y float32) float32 {
	return fmaFlushed(lower(x), lower(y), fmaFlushed(upper(x), upper(y), s))
}

// tileOf is the packed tile with another instruction, in Go.
func tileOf(step dotStepOf) dotTile {
	return func(c *float32, ldc int, a, b *float32, k, distance, panels int, add bool) {
		for p := range panels {
			for r := range dotRows {
				row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), r*ldc+p*128)), 32)
				for j := range 32 {
					var s float32
					for i := range k {
						x := (*float32)(unsafe.Add(unsafe.Pointer(a), 4*(i*16+r)))
						y := (*float32)(unsafe.Add(unsafe.Pointer(b), p*distance+4*(i*32+j)))
						s = step(s, *x, *y)
					}
					if add {
						s += row[j]
					}
					row[j] = s
				}
			}
		}
	}
}

// TestFMAFlushed compares a step with arithmetic that does not round, rounded once.
func TestFMAFlushed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, bits uint32) float32 {
			exponent := rapid.OneOf(rapid.Uint32Range(0, 254), rapid.Uint32Range(120, 134)).Draw(t, name)
			return math.Float32frombits(rapid.Uint32().Draw(t, name)&bits&^(0xff<<23) | exponent<<23)
		}
		a, b, c := number("a", 0xffff0000), number("b", 0xffff0000), number("c", 0xffffffff)
		zeroed := func(x float32) *big.Float {
			if math.Abs(float64(x)) < 0x1p-126 {
				x = 0
			}
			return new(big.Float).SetPrec(1000).SetFloat64(float64(x))
		}
		exact := zeroed(a)
		exact.Mul(exact, zeroed(b)).Add(exact, zeroed(c))
		want, _ := exact.Float32()
		if math.Abs(float64(want)) < 0x1p-126 {
			want = 0
		}
		if got := fmaFlushed(a, b, c); got != want {
			t.Fatalf("%v*%v + %v = %v, want %v", a, b, c, got, want)
		}
	})
}

// TestDotsAreRight: the test at start accepts the manual's instruction, and refuses those
// that one might take it for.
func TestDotsAreRight(t *testing.T) {
	if !dotsAreRight(tileOf(manual)) {
		t.Error("what the manual says is refused")
	}
	for name, step := range map[string]dotStepOf{
		"lower first": func(s, x, y float32) float32 {
			return fmaFlushed(upper(x), upper(y), fmaFlushed(lower(x), lower(y), s))
		},
		"subnormals kept": func(s, x, y float32) float32 {
			return fma(lower(x), lower(y), fma(upper(x), upper(y), s))
		},
		"only results flushed": func(s, x, y float32) float32 {
			return flush(fma(lower(x), lower(y), flush(fma(upper(x), upper(y), s))))
		},
		"only operands flushed": func(s, x, y float32) float32 {
			return fma(flush(lower(x)), flush(lower(y)), fma(flush(upper(x)), flush(upper(y)), s))
		},
		"products flushed": func(s, x, y float32) float32 {
			first := flush(flush(upper(x)) * flush(upper(y)))
			return flush(flush(flush(lower(x))*flush(lower(y))) + flush(first+s))
		},
		"products first": func(s, x, y float32) float32 {
			return flush(s + fmaFlushed(lower(x), lower(y), flush(flush(upper(x))*flush(upper(y)))))
		},
		"one half": func(s, x, y float32) float32 { return fmaFlushed(upper(x), upper(y), s) },
		"nothing":  func(s, _, _ float32) float32 { return s },
	} {
		if dotsAreRight(tileOf(step)) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestDotProducts: products by the tile, with the manual's instruction in Go, are the
// chains of the definition with each step's subnormal numbers taken for 0, in any shape;
// the padding of dst stays.
func TestDotProducts(t *testing.T) {
	if supported() != avx512 {
		t.Skip("no AVX-512")
	}
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 40).Draw(t, "m"), rapid.IntRange(1, 70).Draw(t, "n")
		inner := rapid.OneOf(rapid.IntRange(1, 70), rapid.SampledFrom([]int{255, 256, 257, 300})).Draw(t, "k")
		a, b, start := drawBF16(t, rows, inner, "a"), drawBF16(t, inner, cols, "b"),
			draw(t, rows, cols, "dst")
		add := rapid.Bool().Draw(t, "add")
		at, bt := transposeBF16(a), transposeBF16(b)
		want := start
		want.Data = append([]float32(nil), start.Data...)
		for i := range rows {
			for j := range cols {
				for k := 0; k < inner; k += blockK {
					var s float32
					for l := k; l < min(k+blockK, inner); l++ {
						s = fmaFlushed(widen(a.Row(i)[l]), widen(b.Row(l)[j]), s)
					}
					if add || k > 0 {
						s += want.Row(i)[j]
					}
					want.Row(i)[j] = s
				}
			}
		}
		plain := func(m MatBF16) stridedBF16 { return stridedBF16{m.Data, m.Stride, 1} }
		turned := func(m MatBF16) stridedBF16 { return stridedBF16{m.Data, 1, m.Stride} }
		for name, x := range map[string][2]stridedBF16{
			"NN": {plain(a), plain(b)}, "TN": {turned(at), plain(b)}, "NT": {plain(a), turned(bt)},
		} {
			got := start
			got.Data = append([]float32(nil), start.Data...)
			dotProduct(got, x[0], x[1], inner, add, tileOf(manual))
			for i := range got.Data {
				if !sameBits(got.Data[i], want.Data[i]) {
					t.Fatalf("%s %dx%dx%d element %d: %v, want %v", name, rows, inner, cols, i, got.Data[i],
						want.Data[i])
				}
			}
		}
	})
}

func widen(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// TestDotsHaveTheBitsOfFloat32: without subnormal numbers products by dot products and by
// float32 kernels are the same, several blocks in every direction.
func TestDotsHaveTheBitsOfFloat32(t *testing.T) {
	if supported() != avx512 {
		t.Skip("no AVX-512")
	}
	matrix := func(rows, cols int, seed uint64) MatBF16 {
		m, x := newMatBF16(rows, cols), make([]float32, rows*cols)
		for i := range x {
			seed = seed*6364136223846793005 + 1442695040888963407
			x[i] = float32(int32(seed>>32)) / (1 << 31)
		}
		RoundBF16(m.Data, x)
		return m
	}
	a, b, dot, full := matrix(30, 530, 1), matrix(530, 550, 2), NewMat(30, 550), NewMat(30, 550)
	dotProduct(dot, stridedBF16{a.Data, 530, 1}, stridedBF16{b.Data, 550, 1}, 530, false, tileOf(manual))
	was := active
	defer func() { active = was }()
	active = avx512
	widenedProduct(full, stridedBF16{a.Data, 530, 1}, stridedBF16{b.Data, 550, 1}, 530, false)
	for i, v := range full.Data {
		if dot.Data[i] != v {
			t.Fatalf("element %d: %v by dot products, %v by float32", i, dot.Data[i], v)
		}
	}
}

// TestDotInstruction runs the instruction, where there is one.
func TestDotInstruction(t *testing.T) {
	if !cpu.X86.HasAVX512BF16 || supported() != avx512 {
		t.Skip("no AVX512_BF16 on this machine")
	}
	if !dotsAreRight(dot512x14) {
		t.Error("this processor's VDPBF16PS is not what the manual says")
	}
}
