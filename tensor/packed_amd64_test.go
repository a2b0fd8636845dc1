package tensor

import (
	"testing"

	"pgregory.net/rapid"
)

// within returns a copy of m with another row stride, in a slice that ends with its last
// element.
func within(m Mat, stride int) Mat {
	out := Mat{Rows: m.Rows, Cols: m.Cols, Stride: stride, Data: make([]float32, (m.Rows-1)*stride+m.Cols)}
	for i := range m.Rows {
		copy(out.Row(i), m.Row(i))
	}
	return out
}

// TestPackedProducts: products that copy their rows, or both operands, give the bits of
// those that do not, which other tests compare with the definition, and some elements are
// compared with the definition here. Matrices end with their last element, and what lies
// between rows of dst stays.
func TestPackedProducts(t *testing.T) {
	if supported() != avx512 {
		t.Skip("no AVX-512")
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.OneOf(rapid.IntRange(1, packedFrom-1), rapid.IntRange(packedFrom, 150)).Draw(t, "m")
		cols := rapid.IntRange(blockN, packedN+80).Draw(t, "n")
		inner := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(250, 265)).Draw(t, "k")
		a, b := draw(t, rows, inner, "a"), draw(t, inner, cols, "b")
		start := within(draw(t, rows, cols, "dst"), cols+3)
		if rapid.Bool().Draw(t, "special") {
			special(a, 1, 50)
			special(b, 2, 50)
		}
		add := rapid.Bool().Draw(t, "add")
		a, at, bt := within(a, 1024), within(transpose(a), 64*(1+rows/64)), transpose(b)
		was := active
		defer func() { active = was }()
		active = avx512
		both, few := packsBoth(start, strided{a.Data, a.Stride, 1}),
			packsRows(start, strided{at.Data, 1, at.Stride})
		if both != (rows >= packedFrom) || few == both {
			t.Fatalf("%d rows: both packed %v, rows packed %v", rows, both, few)
		}
		for name, mul := range map[string]func(Mat){
			"NN": func(d Mat) { MulNN(d, a, b, add) },
			"TN": func(d Mat) { MulTN(d, at, b, add) },
			"NT": func(d Mat) { MulNT(d, a, bt, add) },
		} {
			active = avx512
			got, want := within(start, start.Stride), within(start, start.Stride)
			mul(got)
			active = avx2
			mul(want)
			for i := range got.Data {
				if !sameBits(got.Data[i], want.Data[i]) {
					t.Fatalf("%s %dx%dx%d element %d: %v, want %v", name, rows, inner, cols, i, got.Data[i],
						want.Data[i])
				}
			}
			for n := 0; n < rows*cols; n += 1 + rows*cols/50 {
				i, j := n/cols, n%cols
				one := Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float32{start.Row(i)[j]}}
				chains(one, Mat{Rows: 1, Cols: inner, Stride: inner, Data: a.Row(i)},
					Mat{Rows: inner, Cols: 1, Stride: b.Stride, Data: b.Data[j:]}, add)
				if !sameBits(got.Row(i)[j], one.Data[0]) {
					t.Fatalf("%s element (%d,%d): %v, want %v", name, i, j, got.Row(i)[j], one.Data[0])
				}
			}
		}
	})
}

func TestPackedProductsDoNotAllocate(t *testing.T) {
	a, b, dst := NewMat(128, 1024), NewMat(1024, 512), NewMat(128, 512)
	if n := testing.AllocsPerRun(10, func() { MulNN(dst, a, b, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
