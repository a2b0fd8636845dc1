package tensor

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// eachBF16 runs f for every way to compute bfloat16 products on this machine. AMX and dot
// products come with the AVX-512 kernels.
func eachBF16(f func(name string)) {
	each(func(l level) {
		switch {
		case HasAMX():
			f("amx")
		case HasDotBF16():
			f("dot")
		default:
			f(levelNames[l])
		}
	})
}

func newMatBF16(rows, cols int) MatBF16 {
	return MatBF16{Rows: rows, Cols: cols, Stride: cols, Data: make([]uint16, rows*cols)}
}

func needAMX(t *testing.T) {
	if supported() != avx512 || !tiles() {
		t.Skip("no AMX with bf16 on this machine, or the system does not permit it")
	}
}

// nearestBF16 rounds by exact arithmetic on the two neighbours.
func nearestBF16(x float32) uint16 {
	low := uint16(math.Float32bits(x) >> 16)
	value := func(b uint16) float64 {
		if b&0x7fff == 0x7f80 { // what infinity stands for in rounding: the next number would be 2^128
			return math.Copysign(0x1p128, float64(x))
		}
		return float64(math.Float32frombits(uint32(b) << 16))
	}
	below, above := math.Abs(float64(x)-value(low)), math.Abs(value(low+1)-float64(x))
	if below < above || below == above && low&1 == 0 {
		return low
	}
	return low + 1
}

func TestRoundBF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SliceOfN(rapid.Uint32(), 0, 70).Draw(t, "bits")
		f := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, 1e-40})).Draw(t,
			"f")
		x := make([]float32, len(bits))
		for i, b := range bits {
			if i%3 == 1 {
				b &= 0xffff8000 // ties, and numbers that need no rounding
			}
			x[i] = math.Float32frombits(b)
		}
		each(func(l level) {
			near, down, back := make([]uint16, len(x)), make([]uint16, len(x)), make([]float32, len(x))
			RoundBF16(near, x)
			WidenBF16(back, near)
			for i, v := range x {
				switch {
				case v != v:
					if back[i] == back[i] {
						t.Fatalf("%s: NaN %#x becomes %v", levelNames[l], math.Float32bits(v), back[i])
					}
				case v-v != 0:
					if back[i] != v {
						t.Fatalf("%s: %v becomes %v", levelNames[l], v, back[i])
					}
				case near[i] != nearestBF16(v):
					t.Fatalf("%s: RoundBF16(%v) = %#x, want %#x", levelNames[l], v, near[i], nearestBF16(v))
				}
			}
			TruncateBF16(down, x, f)
			WidenBF16(back, down)
			for i, v := range x {
				exact := f * float64(v)
				got := float64(back[i])
				if exact != exact || v-v != 0 {
					if got-got == 0 && f != 0 {
						t.Fatalf("%s: TruncateBF16(%v, %v) = %v", levelNames[l], v, f, got)
					}
					continue
				}
				if math.Abs(got) > math.Abs(exact) || math.Abs(got-exact) > math.Abs(exact)*(0x1p-7+0x1p-23)+
					0x1p-133+0x1p-149 {
					t.Fatalf("%s: TruncateBF16(%v, %v) = %v, exactly %v", levelNames[l], v, f, got, exact)
				}
			}
		})
	})
}

func TestRoundBF16Edges(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{1, 1 + 0x1p-8, 1 + 3*0x1p-8, 1 + 0x1p-8 + 0x1p-23, math.MaxFloat32, 0x1p128 - 0x1p120,
		-inf, 0x1p-149, 0x1p-134, 3 * 0x1p-134}
	want := []float32{1, 1, 1 + 0x1p-6, 1 + 0x1p-7, inf, 0x1p128 - 0x1p120, -inf, 0, 0, 0x1p-132}
	for len(x) < 32 { // both halves of a block of the kernel
		x, want = append(x, x...), append(want, want...)
	}
	each(func(l level) {
		rounded, got := make([]uint16, len(x)), make([]float32, len(x))
		RoundBF16(rounded, x)
		WidenBF16(got, rounded)
		for i := range x {
			if got[i] != want[i] {
				t.Errorf("%s: %v rounds to %v, want %v", levelNames[l], x[i], got[i], want[i])
			}
		}
	})
}

// drawBF16 returns a rows x cols matrix inside a larger allocation.
func drawBF16(t *rapid.T, rows, cols int, name string) MatBF16 {
	m := newMatBF16(rows, cols+rapid.IntRange(0, 3).Draw(t, name+" padding"))
	RoundBF16(m.Data, numbers(t, len(m.Data), 1, name))
	m.Cols = cols
	return m
}

func transposeBF16(m MatBF16) MatBF16 {
	out := newMatBF16(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			out.Row(j)[i] = v
		}
	}
	return out
}

// checkBF16 compares the three products with float64 sums of the rounded operands'
// products, of which it checks one in every. AMX and dot products take subnormal operands
// for 0.
func checkBF16(fail func(string, ...any), start Mat, a, b MatBF16, add bool, every int) {
	wide := func(m MatBF16, flush bool) Mat {
		out := NewMat(m.Rows, m.Cols)
		for i := range m.Rows {
			WidenBF16(out.Row(i), m.Row(i))
			for j, v := range out.Row(i) {
				if flush && math.Abs(float64(v)) < 0x1p-126 {
					out.Row(i)[j] = 0
				}
			}
		}
		return out
	}
	at, bt := transposeBF16(a), transposeBF16(b)
	eachBF16(func(kind string) {
		flushes := kind == "amx" || kind == "dot"
		fa, fb := wide(a, flushes), wide(b, flushes)
		for name, mul := range map[string]func(Mat){
			"NN": func(d Mat) { MulNN16(d, a, b, add) },
			"TN": func(d Mat) { MulTN16(d, at, b, add) },
			"NT": func(d Mat) { MulNT16(d, a, bt, add) },
		} {
			got := start
			got.Data = append([]float32(nil), start.Data...)
			mul(got)
			for e := range got.Data {
				i, j := e/max(1, got.Stride), e%max(1, got.Stride)
				if j >= got.Cols {
					if !sameBits(got.Data[e], start.Data[e]) {
						fail("%s %s writes outside its matrix", kind, name)
					}
					continue
				}
				if e%every != 0 {
					continue
				}
				want, size := wideDot(fa, fb, i, j)
				if add {
					want += float64(start.Data[e])
					size += math.Abs(float64(start.Data[e]))
				}
				bound := float64(a.Cols+2)*0x1p-24*size*1.01 + float64(a.Cols+1)*0x1p-125
				v := float64(got.Data[e])
				if overflow := size > 1e38; overflow && v-v != 0 {
					continue
				}
				if bad := want-want != 0; bad != (v-v != 0) || !bad && math.Abs(v-want) > bound {
					fail("%s %s %dx%dx%d element (%d,%d): %v, want %v within %v", kind, name, a.Rows, a.Cols,
						b.Cols, i, j, v, want, bound)
				}
			}
		}
	})
}

// wideDot is the product in float64, in which products of two bfloat16 are exact and sums
// err by 2^-29 of what is allowed at most; where not all is finite, it is what IEEE
// arithmetic gives.
func wideDot(a, b Mat, i, j int) (sum, size float64) {
	for k := range a.Cols {
		xy := float64(a.Row(i)[k]) * float64(b.Row(k)[j])
		sum += xy
		size += math.Abs(xy)
	}
	return sum, size
}

func TestProductsBF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.OneOf(rapid.IntRange(0, 70), rapid.SampledFrom([]int{1, 16, 32, 33}))
		rows, cols, inner := side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k")
		checkBF16(t.Fatalf, draw(t, rows, cols, "dst"), drawBF16(t, rows, inner, "a"),
			drawBF16(t, inner, cols, "b"), rapid.Bool().Draw(t, "add"), 1)
	})
}

func FuzzProductsBF16(f *testing.F) {
	f.Add(uint8(32), uint8(32), uint16(64), uint8(0), uint64(1), true)
	f.Add(uint8(1), uint8(1), uint16(1), uint8(3), uint64(2), false)
	f.Add(uint8(33), uint8(65), uint16(63), uint8(7), uint64(3), true)
	f.Fuzz(func(t *testing.T, m, n uint8, k uint16, padding uint8, seed uint64, add bool) {
		rows, cols, inner, pad := int(m%71), int(n%71), int(k%71), int(padding%5)
		random := func(rows, cols int) Mat {
			x := NewMat(rows, cols+pad)
			for i := range x.Data {
				seed = seed*6364136223846793005 + 1442695040888963407
				x.Data[i] = float32(int32(seed>>32)) / (1 << 31)
			}
			x.Cols = cols
			return x
		}
		rounded := func(rows, cols int) MatBF16 {
			x := random(rows, cols)
			out := MatBF16{Rows: rows, Cols: cols, Stride: x.Stride, Data: make([]uint16, len(x.Data))}
			RoundBF16(out.Data, x.Data)
			return out
		}
		checkBF16(t.Fatalf, random(rows, cols), rounded(rows, inner), rounded(inner, cols), add, 1)
	})
}

// TestLargeProductsBF16: several blocks in every direction.
func TestLargeProductsBF16(t *testing.T) {
	for _, s := range [][3]int{{40, 1100, 300}, {65, 512, 32}, {70, 1025, 257}, {300, 33, 290}} {
		matrix := func(rows, cols int, seed uint64) MatBF16 {
			m, x := newMatBF16(rows, cols), make([]float32, rows*cols)
			for i := range x {
				seed = seed*6364136223846793005 + 1442695040888963407
				x[i] = float32(int32(seed>>32)) / (1 << 31)
			}
			RoundBF16(m.Data, x)
			return m
		}
		checkBF16(t.Fatalf, NewMat(s[0], s[2]), matrix(s[0], s[1], 1), matrix(s[1], s[2], 2), true, 997)
	}
}

// TestSubnormalBF16: AMX takes subnormal operands and results for 0; float32 kernels do
// not.
func TestSubnormalBF16(t *testing.T) {
	needAMX(t)
	a, b, dst := newMatBF16(1, 2), newMatBF16(2, 1), NewMat(1, 1)
	RoundBF16(a.Data, []float32{0x1p-130, 0x1p-100})
	RoundBF16(b.Data, []float32{1, 0x1p-30})
	eachBF16(func(name string) {
		MulNN16(dst, a, b, false)
		want := float32(2 * 0x1p-130)
		if name == "amx" {
			want = 0
		}
		if dst.Data[0] != want {
			t.Errorf("%s: %v, want %v", name, dst.Data[0], want)
		}
	})
}

// TestRowsBF16AreIndependent: a row has the same bits alone and among others.
func TestRowsBF16AreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 70).Draw(t, "m"), rapid.IntRange(1, 40).Draw(t, "n")
		inner := rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(500, 530)).Draw(t, "k")
		a, b, start := drawBF16(t, rows, inner, "a"), drawBF16(t, inner, cols, "b"),
			draw(t, rows, cols, "dst")
		i := rapid.IntRange(0, rows-1).Draw(t, "row")
		eachBF16(func(name string) {
			all := start
			all.Data = append([]float32(nil), start.Data...)
			one := Mat{Rows: 1, Cols: cols, Stride: cols, Data: append([]float32(nil), start.Row(i)...)}
			MulNN16(all, a, b, true)
			MulTN16(one, transposeBF16(MatBF16{Rows: 1, Cols: inner, Stride: inner, Data: a.Row(i)}), b, true)
			for j := range cols {
				if !sameBits(one.Data[j], all.Row(i)[j]) {
					t.Fatalf("%s row %d column %d: %v alone, %v among %d rows", name, i, j, one.Data[j],
						all.Row(i)[j], rows)
				}
			}
		})
	})
}

// TestTilesUnderPreemption: products keep their bits while goroutines are preempted,
// change threads and garbage is collected.
func TestTilesUnderPreemption(t *testing.T) {
	needAMX(t)
	was := active
	active = avx512
	defer func() { active = was }()
	a, b, want := newMatBF16(64, 1152), newMatBF16(1152, 96), NewMat(64, 96)
	for i := range a.Data {
		a.Data[i] = 0x3f80 + uint16(i*7%128)
	}
	for i := range b.Data {
		b.Data[i] = 0x3f80 + uint16(i*11%128)
	}
	MulNN16(want, a, b, false)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	var group sync.WaitGroup
	for g := range 6 {
		group.Go(func() {
			got := NewMat(64, 96)
			for r := range rounds {
				MulNN16(got, a, b, false)
				for i := range got.Data {
					if !sameBits(got.Data[i], want.Data[i]) {
						t.Errorf("goroutine %d round %d element %d: %v, want %v", g, r, i, got.Data[i],
							want.Data[i])
						return
					}
				}
				if r%20 == g {
					runtime.GC()
				}
				runtime.Gosched()
			}
		})
	}
	group.Wait()
}

func TestBF16DoesNotAllocate(t *testing.T) {
	a, b, dst, x := newMatBF16(40, 70), newMatBF16(70, 50), NewMat(40, 50), make([]float32, 40*70)
	eachBF16(func(name string) {
		if n := testing.AllocsPerRun(5, func() {
			RoundBF16(a.Data, x)
			TruncateBF16(a.Data, x, 0.5)
			MulNN16(dst, a, b, true)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

func TestBF16RefusesWrongShapes(t *testing.T) {
	for name, bad := range map[string]func(){
		"NN": func() { MulNN16(NewMat(2, 3), newMatBF16(2, 4), newMatBF16(5, 3), false) },
		"TN": func() { MulTN16(NewMat(2, 3), newMatBF16(2, 4), newMatBF16(2, 3), false) },
		"NT": func() { MulNT16(NewMat(2, 3), newMatBF16(2, 4), newMatBF16(4, 3), false) },
		"short": func() {
			MulNN16(NewMat(2, 2), MatBF16{Rows: 2, Cols: 2, Stride: 2, Data: make([]uint16, 3)},
				newMatBF16(2, 2), false)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: shapes that do not fit are accepted", name)
				}
			}()
			bad()
		}()
	}
}

func TestSpinBF16(t *testing.T) {
	eachBF16(func(name string) {
		if one, ten := SpinBF16(1), SpinBF16(10); one <= 0 || ten != 10*one {
			t.Errorf("%s: %d operations in a round, %d in ten", name, one, ten)
		}
	})
}
