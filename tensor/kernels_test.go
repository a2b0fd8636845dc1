package tensor

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// each runs f with every set of kernels this machine has.
func each(f func(l level)) {
	was := active
	defer func() { active = was }()
	for l := portable; l <= supported(); l++ {
		active = l
		f(l)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name string
		best level
		want level
	}{
		{"", avx512, avx512}, {"avx512", avx512, avx512}, {"avx2", avx512, avx2},
		{"portable", avx512, portable},
		{"avx512", avx2, avx2}, {"avx2", portable, portable}, {"sse", avx2, avx2}, {"", portable, portable},
	} {
		if got := choose(c.name, c.best); got != c.want {
			t.Errorf("choose(%q, %s) = %s, want %s", c.name, levelNames[c.best], levelNames[got],
				levelNames[c.want])
		}
	}
	if name := environment(); name != "" && supported() == avx512 && Kernels() != name {
		t.Errorf("SOTTO_CPU=%s, but %s is in use", name, Kernels())
	}
}

// fma is the correctly rounded a*b+c: the product is exact in float64, and the sum is
// rounded to odd, so that the second rounding is the only one (Boldo and Melquiond 2008).
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	v := s - p
	e := (p - (s - v)) + (q - v)
	if bits := math.Float64bits(s); e != 0 && e == e && bits&1 == 0 {
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(bits + 1)
		} else {
			s = math.Float64frombits(bits - 1)
		}
	}
	return float32(s)
}

func TestFMAReference(t *testing.T) {
	const e = 0x1p-23
	for _, c := range []struct{ a, b, c, want float32 }{
		{1 + e, 1 + e, -1 - 2*e, e * e},   // the product is not rounded
		{1, 1, 0x1p-24, 1},                // half of the last place, to even
		{1 + e, 1, 0x1p-24, 1 + 2*e},      // half of the last place, to even, above
		{0x1p-24, 1 + 0x1p-23, 1, 1 + e},  // a little more than half
		{0x1p-24, 1, 1 + e, 1 + 2*e},      //
		{0x1p-30, 0x1p-100, 1 + e, 1 + e}, // far below
		{0x1p-75, -0x1p-75, 0x1p-149, 0},  // half of the least subnormal, to even
		{0x1p-75, -0x1p-76, 0x1p-149, 0x1p-149},
	} {
		if got := fma(c.a, c.b, c.c); got != c.want {
			t.Errorf("fma(%v, %v, %v) = %v, want %v", c.a, c.b, c.c, got, c.want)
		}
	}
}

// chains is the definition of a product: blocks of 256 fused chains that start at zero.
func chains(dst, a, b Mat, add bool) {
	for i := range dst.Rows {
		for j := range dst.Cols {
			d := &dst.Data[i*dst.Stride+j]
			for k := 0; k < a.Cols; k += blockK {
				var s float32
				for l := k; l < min(k+blockK, a.Cols); l++ {
					s = fma(a.Row(i)[l], b.Row(l)[j], s)
				}
				if add || k > 0 {
					s += *d
				}
				*d = s
			}
			if a.Cols == 0 && !add {
				*d = 0
			}
		}
	}
}

func sameBits(a, b float32) bool { return a == b || a != a && b != b }

// special spoils some elements: NaN, Inf, subnormal, huge and tiny numbers.
func special(m Mat, seed, every uint64) {
	values := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-45, -3e-39, 3e38,
		-3e38, 1e-30, 0, float32(math.Copysign(0, -1))}
	for i := range m.Data {
		seed = seed*6364136223846793005 + 1442695040888963407
		if every > 0 && (seed>>33)%every == 0 {
			m.Data[i] = values[(seed>>50)%uint64(len(values))]
		}
	}
}

// checkProducts compares the three products with the definition, on every instruction set
// with fused multiply-add. dst's padding must stay as it is.
func checkProducts(fail func(string, ...any), start, a, b Mat, add bool) {
	want := start
	want.Data = append([]float32(nil), start.Data...)
	chains(want, a, b, add)
	at, bt := transpose(a), transpose(b)
	each(func(l level) {
		if l == portable {
			return
		}
		for name, mul := range map[string]func(Mat){
			"NN": func(d Mat) { MulNN(d, a, b, add) },
			"TN": func(d Mat) { MulTN(d, at, b, add) },
			"NT": func(d Mat) { MulNT(d, a, bt, add) },
		} {
			got := start
			got.Data = append([]float32(nil), start.Data...)
			mul(got)
			for i := range got.Data {
				if !sameBits(got.Data[i], want.Data[i]) {
					fail("%s %s %dx%dx%d element %d: %v, want %v", levelNames[l], name, a.Rows, a.Cols,
						b.Cols, i, got.Data[i], want.Data[i])
				}
			}
		}
	})
}

// TestFusedChains: avx512 and avx2 are the chains of the definition bit for bit, so they
// agree with each other.
func TestFusedChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.OneOf(rapid.IntRange(0, 70), rapid.IntRange(0, 9),
			rapid.SampledFrom([]int{96, 97, 130}))
		rows, cols := side.Draw(t, "m"), side.Draw(t, "n")
		inner := rapid.OneOf(side, rapid.SampledFrom([]int{255, 256, 257, 600})).Draw(t, "k")
		if rows*cols*inner > 1<<19 {
			inner = 1<<19/(rows*cols) + 1
		}
		a, b, start := draw(t, rows, inner, "a"), draw(t, inner, cols, "b"), draw(t, rows, cols, "dst")
		if every := rapid.SampledFrom([]uint64{0, 0, 100, 5}).Draw(t, "special"); every > 0 {
			special(a, 1, every)
			special(b, 2, every)
			special(start, 3, every)
		}
		checkProducts(t.Fatalf, start, a, b, rapid.Bool().Draw(t, "add"))
	})
}

func FuzzProducts(f *testing.F) {
	f.Add(uint8(14), uint8(32), uint16(256), uint8(0), uint64(1), true)
	f.Add(uint8(1), uint8(1), uint16(1), uint8(3), uint64(2), false)
	f.Add(uint8(33), uint8(65), uint16(64), uint8(7), uint64(3), true)
	f.Fuzz(func(t *testing.T, m, n uint8, k uint16, padding uint8, seed uint64, add bool) {
		rows, cols, inner, pad := int(m%71), int(n%71), int(k%520), int(padding%5)
		matrix := func(rows, cols int) Mat {
			x := NewMat(rows, cols+pad)
			for i := range x.Data {
				seed = seed*6364136223846793005 + 1442695040888963407
				x.Data[i] = float32(int32(seed>>32)) / (1 << 31)
			}
			special(x, seed, seed%50)
			x.Cols = cols
			return x
		}
		checkProducts(t.Fatalf, matrix(rows, cols), matrix(rows, inner), matrix(inner, cols), add)
	})
}

// TestLargeProducts compares some elements of products that take several blocks in every
// direction with the definition.
func TestLargeProducts(t *testing.T) {
	for _, s := range [][3]int{{257, 300, 512}, {300, 64, 700}, {64, 513, 300}, {65, 257, 49},
		{260, 600, 33}} {
		rows, inner, cols := s[0], s[1], s[2]
		matrix := func(rows, cols int, seed uint64) Mat {
			m := NewMat(rows, cols)
			for i := range m.Data {
				seed = seed*6364136223846793005 + 1442695040888963407
				m.Data[i] = float32(int32(seed>>32)) / (1 << 31)
			}
			return m
		}
		a, b, start := matrix(rows, inner, 1), matrix(inner, cols, 2), matrix(rows, cols, 3)
		at, bt := transpose(a), transpose(b)
		each(func(l level) {
			if l == portable {
				return
			}
			for name, mul := range map[string]func(Mat){
				"NN": func(d Mat) { MulNN(d, a, b, true) },
				"TN": func(d Mat) { MulTN(d, at, b, true) },
				"NT": func(d Mat) { MulNT(d, a, bt, true) },
			} {
				got := start
				got.Data = append([]float32(nil), start.Data...)
				mul(got)
				for at := 0; at < rows*cols; at += 97 {
					i, j := at/cols, at%cols
					want := Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float32{start.Row(i)[j]}}
					chains(want, Mat{Rows: 1, Cols: inner, Stride: inner, Data: a.Row(i)},
						Mat{Rows: inner, Cols: 1, Stride: cols, Data: b.Data[j:]}, true)
					if !sameBits(got.Row(i)[j], want.Data[0]) {
						t.Fatalf("%s %s %v element (%d,%d): %v, want %v", levelNames[l], name, s, i, j,
							got.Row(i)[j], want.Data[0])
					}
				}
			}
		})
	}
}

// TestProductsStayInside: matrices that end with their last element, in slices that end
// there too.
func TestProductsStayInside(t *testing.T) {
	tight := func(m Mat) Mat {
		if m.Rows > 0 && m.Cols > 0 {
			m.Data = append(make([]float32, 0, (m.Rows-1)*m.Stride+m.Cols),
				m.Data[:(m.Rows-1)*m.Stride+m.Cols]...)
		}
		return m
	}
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 40)
		rows, cols, inner := side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k")
		a, b, dst := tight(draw(t, rows, inner, "a")), tight(draw(t, inner, cols, "b")),
			tight(draw(t, rows, cols, "dst"))
		at, bt := transpose(a), transpose(b)
		each(func(level) {
			MulNN(dst, a, b, false)
			MulTN(dst, at, b, true)
			MulNT(dst, a, bt, true)
		})
	})
	short := Mat{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 3)}
	each(func(l level) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s: a product wrote to a matrix with too few elements", levelNames[l])
			}
		}()
		MulNN(short, NewMat(2, 2), NewMat(2, 2), false)
	})
}

func TestProductsDoNotAllocate(t *testing.T) {
	each(func(l level) {
		for _, s := range [][3]int{{32, 300, 64}, {32, 64, 588}, {128, 64, 40}, {5, 9, 1}} {
			a, b, dst := NewMat(s[0], s[1]), NewMat(s[1], s[2]), NewMat(s[0], s[2])
			at, bt := transpose(a), transpose(b)
			if n := testing.AllocsPerRun(5, func() {
				MulNN(dst, a, b, true)
				MulTN(dst, at, b, true)
				MulNT(dst, a, bt, true)
			}); n != 0 {
				t.Errorf("%s %v: %v allocations", levelNames[l], s, n)
			}
		}
	})
}

func TestSpinFMA(t *testing.T) {
	each(func(l level) {
		if one, ten := SpinFMA(1), SpinFMA(10); one <= 0 || ten != 10*one {
			t.Errorf("%s: %d operations in a round, %d in ten", levelNames[l], one, ten)
		}
	})
}

// BenchmarkPeak prints what the machine's multiply-add units can do; BenchmarkMul's last
// column relates to it.
func BenchmarkPeak(b *testing.B) {
	each(func(l level) {
		b.Run(levelNames[l], func(b *testing.B) {
			work := 0
			for b.Loop() {
				work += SpinFMA(1000)
			}
			b.ReportMetric(float64(work)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	})
}

func ExampleKernels() {
	fmt.Println(map[string]bool{"avx512": true, "avx2": true, "portable": true}[Kernels()])
	// Output: true
}
