package tensor

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNormalization compares every set of kernels with the definitions, bit for bit: sums
// are exact products in one chain.
func TestNormalization(t *testing.T) { rapid.Check(t, normalization) }

func FuzzNormalization(f *testing.F) { f.Fuzz(rapid.MakeFuzz(normalization)) }

func normalization(t *rapid.T) {
	rows, c := rapid.IntRange(0, 12).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "channels")
	x, g := numbers(t, rows*c, 3, "x"), numbers(t, rows*c, 2, "g")
	var by [4][]float32
	for i := range by {
		by[i] = numbers(t, c, 1, "by channel")
	}
	each(func(l level) {
		sums, products := make([]float64, c), make([]float64, c)
		y, dx := make([]float32, rows*c), make([]float32, rows*c)
		ChannelSums(sums, products, g, x)
		Normalize(y, x, by[0], by[1], by[2])
		NormalizeGradient(dx, g, x, by[0], by[1], by[2], by[3])
		for j := range c {
			var sum, product float64
			for i := j; i < rows*c; i += c {
				sum += float64(g[i])
				product += float64(g[i]) * float64(x[i])
				centred := x[i] - by[0][j]
				if want := float32(centred*by[1][j]) + by[2][j]; !sameBits(y[i], want) {
					t.Fatalf("%s: normalized element %d: %v, want %v", levelNames[l], i, y[i], want)
				}
				if want := float32(g[i]*by[1][j]) + float32(centred*by[2][j]) +
					by[3][j]; !sameBits(dx[i], want) {
					t.Fatalf("%s: gradient element %d: %v, want %v", levelNames[l], i, dx[i], want)
				}
			}
			if sum != sums[j] && sum == sum || product != products[j] && product == product {
				t.Fatalf("%s: channel %d: %v %v, want %v %v", levelNames[l], j, sums[j], products[j], sum,
					product)
			}
		}
	})
}

// TestRowSquares: each row has the bits of SumSquares.
func TestRowSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t, rapid.IntRange(0, 9).Draw(t, "rows"),
			rapid.OneOf(rapid.IntRange(0, 70), rapid.IntRange(1, 2)).Draw(t, "cols"), "m")
		special(m, 1, rapid.SampledFrom([]uint64{0, 0, 50}).Draw(t, "special"))
		each(func(l level) {
			sums := make([]float64, m.Rows)
			RowSquares(sums, m)
			for i, v := range sums {
				if want := SumSquares(m.Row(i)); v != want && (v == v || want == want) {
					t.Fatalf("%s: row %d of %d: %v, want %v", levelNames[l], i, m.Cols, v, want)
				}
			}
		})
	})
}

// Without channels there are no positions: it is refused, and does not go on for ever.
func TestNormalizationNeedsWholePositions(t *testing.T) {
	one, two := []float32{1}, []float32{1, 2}
	for name, f := range map[string]func(){
		"sums of none":     func() { ChannelSums(nil, nil, one, one) },
		"none":             func() { Normalize(one, one, nil, nil, nil) },
		"gradient of none": func() { NormalizeGradient(one, one, one, nil, nil, nil, nil) },
		"a part":           func() { Normalize(one, one, two, two, two) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
