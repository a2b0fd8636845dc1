package tensor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

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
				t.Fatalf("%s: %v gave %v, gradient %v, want %v, %v; product %v", levelNames[l], v, y[i],
					dx[i], value, gradient, product[i])
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

// TestActivationKernels: every set of kernels gives the bits of the functions of one
// element.
func TestActivationKernels(t *testing.T) { rapid.Check(t, activationKernels) }

func FuzzActivationKernels(f *testing.F) { f.Fuzz(rapid.MakeFuzz(activationKernels)) }

func activationKernels(t *rapid.T) {
	n := rapid.IntRange(0, 70).Draw(t, "n")
	x := numbers(t, n, rapid.SampledFrom([]float32{0.1, 3, 30, 200}).Draw(t, "scale"), "x")
	each(func(l level) {
		for name, c := range map[string]struct {
			many func(y, d, x []float32)
			one  func(x float32) (float32, float32)
		}{
			"tanh": {Tanhs, func(x float32) (float32, float32) {
				v := Tanh(x)
				return v, 1 - float32(v*v)
			}},
			"sigmoid": {Sigmoids, func(x float32) (float32, float32) {
				v := Sigmoid(x)
				return v, float32(v * (1 - v))
			}},
			"gelu": {GELUs, GELU},
		} {
			y, d := make([]float32, n), make([]float32, n)
			c.many(y, d, x)
			for i, v := range x {
				if value, slope := c.one(v); !sameBits(y[i], value) || !sameBits(d[i], slope) {
					t.Fatalf("%s: %s of %v is %v, %v, want %v, %v", levelNames[l], name, v, y[i], d[i], value,
						slope)
				}
			}
		}
	})
}
