package tensor

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// draw returns a rows x cols matrix inside a larger allocation, so that Stride > Cols is
// covered.
func draw(t *rapid.T, rows, cols int, name string) Mat {
	m := NewMat(rows, cols+rapid.IntRange(0, 3).Draw(t, name+" padding"))
	seed := rapid.Uint64().Draw(t, name)
	for i := range m.Data {
		seed = seed*6364136223846793005 + 1442695040888963407
		m.Data[i] = float32(int32(seed>>32)) / (1 << 31)
	}
	m.Cols = cols
	return m
}

func transpose(m Mat) Mat {
	out := NewMat(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			out.Row(j)[i] = v
		}
	}
	return out
}

// TestMulAgainstExactSums compares all three products with sums in 200-bit arithmetic.
func TestMulAgainstExactSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 9).Draw(t, "m"), rapid.IntRange(0, 11).Draw(t, "n")
		inner := rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{255, 256, 257, 600})).Draw(t, "k")
		a, b, start := draw(t, rows, inner, "a"), draw(t, inner, cols, "b"), draw(t, rows, cols, "dst")
		add := rapid.Bool().Draw(t, "add")
		products := map[string]func(Mat){
			"NN": func(d Mat) { MulNN(d, a, b, add) },
			"TN": func(d Mat) { MulTN(d, transpose(a), b, add) },
			"NT": func(d Mat) { MulNT(d, a, transpose(b), add) },
		}
		var first Mat
		for _, name := range []string{"NN", "TN", "NT"} {
			got := start
			got.Data = append([]float32(nil), start.Data...)
			products[name](got)
			for i := range rows {
				for j := range cols {
					want, size := exactDot(a, b, i, j)
					if add {
						want += float64(start.Row(i)[j])
						size += math.Abs(float64(start.Row(i)[j]))
					}
					bound := float64(inner+2) * 0x1p-24 * size // gamma_{k+2}, Higham 2002, section 3.1
					if err := math.Abs(float64(got.Row(i)[j]) - want); err > 1.01*bound {
						t.Fatalf("%s element (%d,%d): %v, want %v, bound %v", name, i, j, got.Row(i)[j], want,
							bound)
					}
				}
			}
			if first.Data == nil {
				first = got
			}
			for i := range got.Data { // padding included: a product writes only its own elements
				if got.Data[i] != first.Data[i] {
					t.Fatalf("%s differs from NN at %d: %v, %v", name, i, got.Data[i], first.Data[i])
				}
			}
		}
	})
}

func exactDot(a, b Mat, i, j int) (sum, size float64) {
	s := new(big.Float).SetPrec(200)
	for k := range a.Cols {
		x, y := float64(a.Row(i)[k]), float64(b.Row(k)[j])
		s.Add(s, new(big.Float).SetPrec(200).Mul(big.NewFloat(x), big.NewFloat(y)))
		size += math.Abs(x * y)
	}
	sum, _ = s.Float64()
	return sum, size
}

// TestMulRowsAreIndependent: a row of NN and TN has the same bits alone and among others.
func TestMulRowsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 200).Draw(t, "m"), rapid.IntRange(1, 9).Draw(t, "n")
		inner := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(250, 300)).Draw(t, "k")
		a, b := draw(t, rows, inner, "a"), draw(t, inner, cols, "b")
		all, turned, one := NewMat(rows, cols), NewMat(rows, cols), NewMat(1, cols)
		MulNN(all, a, b, false)
		MulTN(turned, transpose(a), b, false)
		i := rapid.IntRange(0, rows-1).Draw(t, "row")
		MulNN(one, Mat{Rows: 1, Cols: inner, Stride: a.Stride, Data: a.Data[i*a.Stride:]}, b, false)
		for j := range cols {
			if one.Data[j] != all.Row(i)[j] || one.Data[j] != turned.Row(i)[j] {
				t.Fatalf("row %d column %d: %v alone, %v and %v among %d rows", i, j, one.Data[j],
					all.Row(i)[j], turned.Row(i)[j], rows)
			}
		}
	})
}

func TestMulRefusesWrongShapes(t *testing.T) {
	for name, mul := range map[string]func(dst, a, b Mat, add bool){"NN": MulNN, "TN": MulTN, "NT": MulNT} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Mul%s accepted shapes that do not fit", name)
				}
			}()
			mul(NewMat(2, 3), NewMat(2, 4), NewMat(5, 3), false)
		}()
	}
}

func TestMulDoesNotAllocate(t *testing.T) {
	a, b, dst := NewMat(7, 300), NewMat(300, 6), NewMat(7, 6)
	if n := testing.AllocsPerRun(10, func() { MulNN(dst, a, b, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
