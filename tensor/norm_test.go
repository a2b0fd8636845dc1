package tensor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestNormalization compares every set of kernels with the definitions, bit for bit: sums are exact products in one chain.
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
				if want := float32(g[i]*by[1][j]) + float32(centred*by[2][j]) + by[3][j]; !sameBits(dx[i], want) {
					t.Fatalf("%s: gradient element %d: %v, want %v", levelNames[l], i, dx[i], want)
				}
			}
			if sum != sums[j] && sum == sum || product != products[j] && product == product {
				t.Fatalf("%s: channel %d: %v %v, want %v %v", levelNames[l], j, sums[j], products[j], sum, product)
			}
		}
	})
}

// TestRectify compares every set of kernels with the definition.
func TestRectify(t *testing.T) { rapid.Check(t, rectify) }

func FuzzRectify(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rectify)) }

func rectify(t *rapid.T) {
	n := rapid.IntRange(0, 70).Draw(t, "n")
	x, g := numbers(t, n, 3, "x"), numbers(t, n, 3, "g")
	slope := rapid.SampledFrom([]float32{0, 0.1, 0.01, 1, -0.5}).Draw(t, "slope")
	each(func(l level) {
		y, dx, product := make([]float32, n), make([]float32, n), make([]float32, n)
		Rectify(y, x, slope)
		RectifyGradient(dx, g, x, slope)
		Mul(product, g, x)
		for i, v := range x {
			value, gradient := slope*v, slope*g[i]
			if v > 0 || v != v {
				value, gradient = v, g[i]
			} else if slope == 0 {
				value = 0
			}
			if !sameBits(y[i], value) || !sameBits(dx[i], gradient) || !sameBits(product[i], g[i]*v) {
				t.Fatalf("%s: %v gave %v, gradient %v, want %v, %v; product %v", levelNames[l], v, y[i], dx[i], value, gradient, product[i])
			}
		}
	})
}

// TestSmoothActivations compares with float64 and with central differences of it.
func TestSmoothActivations(t *testing.T) {
	gelu := func(x float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	for x := -15.0; x <= 15; x += 1.0 / 64 {
		if got, want := float64(Sigmoid(float32(x))), 1/(1+math.Exp(-x)); math.Abs(got-want) > 2e-7 {
			t.Errorf("Sigmoid(%v) = %v, want %v", x, got, want)
		}
		value, derivative := GELU(float32(x))
		if want := gelu(x); math.Abs(float64(value)-want) > 4e-7*(1+math.Abs(x)) {
			t.Errorf("GELU(%v) = %v, want %v", x, value, want)
		}
		if want := (gelu(x+1e-5) - gelu(x-1e-5)) / 2e-5; math.Abs(float64(derivative)-want) > 2e-6 {
			t.Errorf("GELU'(%v) = %v, want %v", x, derivative, want)
		}
	}
	inf := float32(math.Inf(1))
	if v, d := GELU(inf); v != inf || d != 1 || Sigmoid(inf) != 1 || Sigmoid(-inf) != 0 {
		t.Errorf("at infinity: GELU %v, %v, Sigmoid %v, %v", v, d, Sigmoid(inf), Sigmoid(-inf))
	}
	nan := float32(math.NaN())
	if v, _ := GELU(nan); v == v || Sigmoid(nan) == Sigmoid(nan) {
		t.Error("NaN is lost")
	}
}
