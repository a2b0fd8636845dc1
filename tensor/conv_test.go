package tensor

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// numbers returns n elements of a seeded sequence in (-scale, scale), sometimes with
// special ones among them.
func numbers(t *rapid.T, n int, scale float32, name string) []float32 {
	m := NewMat(1, n)
	seed := rapid.Uint64().Draw(t, name)
	for i := range m.Data {
		seed = seed*6364136223846793005 + 1442695040888963407
		m.Data[i] = scale * float32(int32(seed>>32)) / (1 << 31)
	}
	if every := rapid.SampledFrom([]uint64{0, 0, 40}).Draw(t, name+" special"); every > 0 {
		special(m, seed, every)
	}
	return slices.Clip(m.Data)
}

// step is one multiply-add of a chain as the kernels do it.
func step(l level, a, b, c float32) float32 {
	if l == portable {
		return c + float32(a*b)
	}
	return fma(a, b, c)
}

// TestConvolve5 compares every set of kernels with the chain of the definition, bit for
// bit.
func TestConvolve5(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, channels := 2*rapid.IntRange(1, 40).Draw(t, "n/2"), rapid.IntRange(1, 3).Draw(t, "channels")
		rows, width := 2*rapid.IntRange(1, 4).Draw(t, "rows/2"), n+4+rapid.IntRange(0, 2).Draw(t, "more")
		area := (rows + 4) * width
		x := numbers(t, (channels-1)*area+(rows+3)*width+n+4, 1, "x") // not one element more than needed
		filter := numbers(t, 75*channels+3, 1, "filter")
		plane := rows / 2 * n
		each(func(l level) {
			chain := l
			if n < 8 {
				chain = portable // rows this short are always done in Go
			}
			var halves [2][]float32
			halves[0], halves[1] = make([]float32, 3*plane), make([]float32, 3*plane)
			Convolve5(halves[0], halves[1], x, rows, n, width, area, channels, filter)
			for i := range rows {
				for f := range 3 {
					for j := range n {
						want := filter[75*channels+f]
						for k := range 25 * channels {
							ch, r, c := k/25, k/5%5, k%5
							want = step(chain, x[ch*area+(i+r)*width+j+c], filter[3*k+f], want)
						}
						if got := halves[i%2][f*plane+i/2*n+j]; !sameBits(got, want) {
							t.Fatalf("%s row %d plane %d position %d of %d: %v, want %v", levelNames[l], i, f,
								j, n, got, want)
						}
					}
				}
			}
		})
	})
}

// TestPoolMish compares with the best of four values of Mish. Equal values need not have
// one place.
func TestPoolMish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "n")
		scale := rapid.SampledFrom([]float32{0.5, 3, 30}).Draw(t, "scale")
		rows := [2][]float32{numbers(t, 2*n, scale, "top"), numbers(t, 2*n, scale, "bottom")}
		columns := make([]int32, n)
		for i := range columns {
			columns[i] = int32(2 * i)
		}
		const base, width = 1000, 100
		each(func(l level) {
			y, d, at := make([]float32, n), make([]float32, n), make([]int32, n)
			PoolMish(y, d, at, rows[0], rows[1], columns, width, base)
			for i := range y {
				best, sum := float32(math.Inf(-1)), float32(0)
				for k := range 4 {
					v := rows[k/2][2*i+k%2]
					value, _ := Mish(v)
					best, sum = max(best, value), sum+v
				}
				if sum-sum != 0 {
					if y[i] == y[i] {
						t.Fatalf("%s: cell %d, whose sum is %v, gave %v", levelNames[l], i, sum, y[i])
					}
					continue
				}
				place := at[i] - base - columns[i]
				if place < 0 || place%width > 1 || place/width > 1 {
					t.Fatalf("%s: cell %d is at %d", levelNames[l], i, at[i])
				}
				value, slope := Mish(rows[place/width][2*i+int(place%width)])
				if !sameBits(y[i], value) || !sameBits(d[i], slope) ||
					value < best && float64(best-value) > 1e-6*math.Abs(float64(best)) {
					t.Fatalf("%s: cell %d has %v, %v at place %d where Mish is %v, %v; the best is %v",
						levelNames[l], i, y[i], d[i], place, value, slope, best)
				}
			}
		})
	})
}

// TestPoolMishTies: of equal pre-activations the first one counts; the smallest wins
// where Mish is larger there.
func TestPoolMishTies(t *testing.T) {
	const n = 9
	for _, c := range []struct {
		v    [4]float32
		want int32
	}{
		{[4]float32{1, 1, 1, 1}, 10}, {[4]float32{0, 2, 2, 1}, 11}, {[4]float32{-1, -1, -5, -5}, 12},
		{[4]float32{-5, -1, -2, -1.5}, 10}, {[4]float32{3, -9, 2, 4}, 13},
	} {
		var y, d [n]float32
		var at, columns [n]int32
		var top, bottom [2 * n]float32
		for i := range n {
			columns[i] = 10
			top[2*i], top[2*i+1], bottom[2*i], bottom[2*i+1] = c.v[0], c.v[1], c.v[2], c.v[3]
		}
		each(func(l level) {
			PoolMish(y[:], d[:], at[:], top[:], bottom[:], columns[:], 2, 0)
			for i := range n {
				if at[i] != c.want {
					t.Errorf("%s %v: place %d, want %d", levelNames[l], c.v, at[i], c.want)
				}
			}
		})
	}
}

func TestPatchGradients5(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, width := rapid.IntRange(0, 30).Draw(t, "n"), rapid.IntRange(5, 40).Draw(t, "width")
		places := rapid.IntRange(1, 50).Draw(t, "places")
		x := numbers(t, 4*width+4+places, 1, "x")
		g := numbers(t, 3*n, 1, "g")
		at := make([]int32, 3*n)
		for i := range at {
			at[i] = int32(rapid.IntRange(0, places-1).Draw(t, "at"))
		}
		each(func(l level) {
			var sums, want [3][41]float32
			sums[0][4], sums[2][40] = 3, 3 // must be overwritten
			PatchGradients5(&sums, x, width, g, at)
			for i := range g {
				to := &want[i/n]
				for k := range 25 {
					s := &to[8*(k/5)+k%5]
					*s = step(l, g[i], x[int(at[i])+k/5*width+k%5], *s)
				}
				to[40] += g[i]
			}
			for k := range 3 * 41 {
				if unused := k%41 < 40 && k%41%8 > 4; unused {
					continue
				}
				if got, want := sums[k/41][k%41], want[k/41][k%41]; !sameBits(got, want) {
					t.Fatalf("%s plane %d sum %d: %v, want %v", levelNames[l], k/41, k%41, got, want)
				}
			}
		})
	})
	each(func(l level) {
		for _, bad := range []int32{-1, 1, 1 << 30} {
			for _, at := range [][]int32{{bad, 0, 0}, append(make([]int32, 8), bad),
				append([]int32{0, bad}, make([]int32, 10)...)} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s: a patch at %d is accepted", levelNames[l], bad)
						}
					}()
					var sums [3][41]float32
					PatchGradients5(&sums, make([]float32, 25), 5, make([]float32, len(at)), at)
				}()
			}
		}
	})
}

func TestPlanes3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		planes, together := numbers(t, 3*n, 1, "planes"), numbers(t, 3*n, 1, "together")
		each(func(l level) {
			got, products := make([]float32, 3*n), slices.Clone(planes)
			Interleave3(got, planes)
			MultiplyPlanes3(products, together)
			for i := range n {
				for f := range 3 {
					if want := planes[f*n+i]; !sameBits(got[3*i+f], want) {
						t.Fatalf("%s: element %d of plane %d is %v, want %v", levelNames[l], i, f, got[3*i+f],
							want)
					}
					if want := planes[f*n+i] * together[3*i+f]; !sameBits(products[f*n+i], want) {
						t.Fatalf("%s: product %d of plane %d is %v, want %v", levelNames[l], i, f,
							products[f*n+i], want)
					}
				}
			}
		})
	})
}

// TestMishes: the bits of Mish, on numbers of every size.
func TestMishes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := numbers(t, rapid.IntRange(0, 40).Draw(t, "n"),
			rapid.SampledFrom([]float32{1, 30, 200}).Draw(t, "scale"), "x")
		bits := rapid.SliceOfN(rapid.Uint32(), 0, 20).Draw(t, "bits")
		for _, b := range bits {
			x = append(x, math.Float32frombits(b))
		}
		each(func(l level) {
			y, d := make([]float32, len(x)), make([]float32, len(x))
			Mishes(y, d, x)
			for i, v := range x {
				if value, slope := Mish(v); !sameBits(y[i], value) || !sameBits(d[i], slope) {
					t.Fatalf("%s: Mishes(%v) = %v, %v, want %v, %v", levelNames[l], v, y[i], d[i], value,
						slope)
				}
			}
		})
	})
}

func TestSumSquaresOfAllKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := numbers(t, rapid.IntRange(0, 100).Draw(t, "n"), 1, "x")
		var want float64
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		var fused []float64
		each(func(l level) {
			got := SumSquares(x)
			if bad := want-want != 0; bad != (got-got != 0) || !bad && math.Abs(got-want) > 1e-13*want {
				t.Fatalf("%s: %v, want %v", levelNames[l], got, want)
			}
			if l != portable {
				fused = append(fused, got)
			}
		})
		if len(fused) == 2 && math.Float64bits(fused[0]) != math.Float64bits(fused[1]) &&
			fused[0] == fused[0] {
			t.Fatalf("avx2 %v, avx512 %v", fused[0], fused[1])
		}
	})
}
