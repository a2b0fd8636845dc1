package tensor

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// twins runs f with every set of kernels on a copy of x and compares each outcome with
// the first, the Go loop's.
func twins(t *rapid.T, name string, x []float32, f func(x []float32)) {
	var want []float32
	each(func(l level) {
		got := slices.Clip(slices.Clone(x))
		f(got)
		if want == nil {
			want = got
		}
		for i := range got {
			if !sameBits(got[i], want[i]) || got[i] == 0 &&
				math.Signbit(float64(got[i])) != math.Signbit(float64(want[i])) {
				t.Fatalf("%s by %s, element %d of %d: %v, in Go %v", name, levelNames[l], i, len(x), got[i],
					want[i])
			}
		}
	})
}

// TestVectorKernels: the vector kernels give the bits of their Go twins, on every kind of
// number.
func TestVectorKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(250, 600)).Draw(t, "n")
		x, y, z := numbers(t, n, 1, "x"), numbers(t, n, 100, "y"), numbers(t, n, 1e-40, "z")
		for i := range x {
			if i%7 == 3 {
				x[i] = math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
			}
		}
		f := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(0, 1e-30),
			rapid.SampledFrom([]float64{0, 1, 0.5})).Draw(t, "f")
		weights := []float64{f, 1 - f, rapid.Float64Range(-1e3, 1e3).Draw(t, "w")}
		twins(t, "ScaleToward", x, func(x []float32) { ScaleToward(x, f) })
		twins(t, "ScaleToward", z, func(z []float32) { ScaleToward(z, f) })
		twins(t, "AddScaled", x, func(x []float32) { Vec(x).AddScaled(weights[2], y) })
		twins(t, "WeightedSum", x, func(x []float32) { WeightedSum(x, weights, []Vec{y, x, z}) })
		twins(t, "WeightedSum of none", x, func(x []float32) { WeightedSum(x, nil, nil) })
	})
}

// TestLongVectors: vectors that take several calls of a kernel.
func TestLongVectors(t *testing.T) {
	for _, n := range []int{8191, 8192, 8200, 20013} {
		x, ones := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], ones[i] = float32(i%1000)-500, 1
		}
		each(func(l level) {
			v, y, d := slices.Clone(x), make([]float32, n), make([]float32, n)
			Vec(v).AddScaled(2, ones)
			ScaleToward(v, 0.5)
			Mishes(y, d, v)
			var squares float64
			for i, got := range v {
				want := x[i]/2 + 1
				value, slope := Mish(want)
				if got != want || y[i] != value || d[i] != slope {
					t.Fatalf("%s, element %d of %d: %v, %v, %v, want %v, %v, %v", levelNames[l], i, n, got,
						y[i], d[i], want, value, slope)
				}
				squares += float64(got) * float64(got) // exact: multiples of 1/4 below 2^53
			}
			if got := SumSquares(v); got != squares {
				t.Errorf("%s: %d squares sum to %v, want %v", levelNames[l], n, got, squares)
			}
		})
	}
}

func TestVectorKernelsDoNotAllocate(t *testing.T) {
	x, y := make(Vec, 1000), make(Vec, 1000)
	weights, xs := []float64{0.5, 0.5}, []Vec{x, y}
	each(func(l level) {
		if n := testing.AllocsPerRun(5, func() {
			ScaleToward(x, 0.5)
			x.AddScaled(0.5, y)
			WeightedSum(x, weights, xs)
			Mishes(x, y, x)
		}); n != 0 {
			t.Errorf("%s: %v allocations", levelNames[l], n)
		}
	})
}

func BenchmarkVec(b *testing.B) {
	const n = 38424
	x, y := make(Vec, n), make(Vec, n)
	weights, xs := make([]float64, 10), make([]Vec, 10)
	for j := range xs {
		weights[j], xs[j] = 0.1, make(Vec, n)
	}
	each(func(l level) {
		for name, f := range map[string]func(){
			"AddScaled":     func() { x.AddScaled(0.5, y) },
			"ScaleToward":   func() { ScaleToward(x, 0.5) },
			"SumSquares":    func() { SumSquares(y) },
			"WeightedSum10": func() { WeightedSum(x, weights, xs) },
			"Mishes":        func() { Mishes(x, y, xs[0]) },
		} {
			b.Run(name+"/"+levelNames[l], func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		}
	})
}

// TestWeightedSums: rows that are formed together have the bits of one at a time.
func TestWeightedSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100).Draw(t, "n")
		rows, terms := rapid.IntRange(1, SumRows).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "terms")
		lo := rapid.IntRange(0, n).Draw(t, "lo")
		hi := rapid.IntRange(lo, n).Draw(t, "hi")
		xs := make([]Vec, terms)
		weights := make([]float64, SumRows*terms)
		for j := range xs {
			xs[j] = numbers(t, n, 1, "x")
			if rapid.IntRange(0, 5).Draw(t, "odd") == 0 && n > 0 {
				xs[j][n/2] = math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
			}
			for r := range rows {
				weights[j*SumRows+r] = rapid.OneOf(rapid.Float64Range(-2, 2),
					rapid.SampledFrom([]float64{0, 1})).Draw(t, "w")
			}
		}
		each(func(l level) {
			dsts := make([]Vec, rows)
			for r := range dsts {
				dsts[r] = slices.Repeat(Vec{7}, n)
			}
			WeightedSums(dsts, xs, weights, lo, hi)
			for r, got := range dsts {
				row, want := make([]float64, terms), slices.Repeat(Vec{7}, n)
				for j := range row {
					row[j] = weights[j*SumRows+r]
				}
				sum := make(Vec, n)
				WeightedSum(sum, row, xs)
				copy(want[lo:hi], sum[lo:hi])
				for i := range got {
					if !sameBits(got[i], want[i]) {
						t.Fatalf("%s, row %d, element %d of %d: %v, want %v", levelNames[l], r, i, n, got[i],
							want[i])
					}
				}
			}
		})
	})
}

// BenchmarkWeightedSums is the mixing of 100 agents on a complete graph: a pair of agent
// and neighbor is an op.
func BenchmarkWeightedSums(b *testing.B) {
	const n, dim, chunk = 100, 38424, 1024
	xs, dsts := make([]Vec, n), make([]Vec, n)
	weights, row := make([]float64, SumRows*n), make([]float64, n)
	for j := range xs {
		xs[j], dsts[j] = make(Vec, dim), make(Vec, dim)
		row[j] = .01
		for r := range SumRows {
			weights[j*SumRows+r] = .01
		}
	}
	each(func(l level) {
		b.Run(levelNames[l]+"/one", func(b *testing.B) {
			for k := 0; b.Loop(); k++ {
				WeightedSum(dsts[k%n], row, xs)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/agent")
		})
		b.Run(levelNames[l]+"/eight", func(b *testing.B) {
			for b.Loop() {
				for lo := 0; lo < dim; lo += chunk {
					for r := 0; r < n; r += SumRows {
						WeightedSums(dsts[r:min(r+SumRows, n)], xs, weights, lo, min(lo+chunk, dim))
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/agent")
		})
	})
}
