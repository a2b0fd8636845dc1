package tensor

import (
	"math"
	"math/big"
	"testing"
)

// arguments are steps from lo to hi and, near 0, powers of two of both signs.
func arguments(lo, hi float64, n int) []float64 {
	var x []float64
	for i := range n {
		x = append(x, lo+(hi-lo)*(float64(i)+.37)/float64(n))
	}
	for e := -60; e <= 0; e++ {
		for _, v := range []float64{math.Ldexp(1.1, e), -math.Ldexp(.97, e)} {
			if v > lo && v < hi {
				x = append(x, v)
			}
		}
	}
	return x
}

const wideBits = 1300 // bits: enough for 1 less a tail, and for sums whose terms cancel

func wide(x float64) *big.Float { return new(big.Float).SetPrec(wideBits).SetFloat64(x) }

// exactExp is e^x by its series at x/2^40.
func exactExp(x *big.Float) *big.Float {
	small := wide(0).SetMantExp(x, -40)
	sum, term := wide(1), wide(1)
	for k := 1.; k < 60; k++ {
		sum.Add(sum, term.Quo(term.Mul(term, small), wide(k)))
	}
	for range 40 {
		sum.Mul(sum, sum)
	}
	return sum
}

// exactTail is P[Z > x] for x >= 0, by the series of the distribution function.
func exactTail(x float64) *big.Float {
	square := wide(0).Mul(wide(x), wide(x))
	sum, term := wide(0), wide(x)
	for k := 1.; term.MantExp(nil) > -wideBits || k < x*x; k++ { // x + x^3/3 + x^5/(3 5) + ...
		if sum.Add(sum, term); x == 0 {
			break
		}
		term.Quo(term.Mul(term, square), wide(2*k+1))
	}
	// times the density: 1/sqrt(2 pi) by Machin's formula
	at := func(n float64) *big.Float {
		s, p := wide(0), wide(0).Quo(wide(1), wide(n))
		for k := 0; k < 1400; k++ {
			t := wide(0).Quo(p, wide(float64(2*k+1)))
			if k%2 == 1 {
				t.Neg(t)
			}
			s.Add(s, t)
			p.Quo(p, wide(n*n))
		}
		return s
	}
	if rootTwoPi == nil {
		a := wide(0).Mul(wide(16), at(5))
		rootTwoPi = wide(0).Sub(a, wide(0).Mul(wide(4), at(239)))
		rootTwoPi.Sqrt(rootTwoPi.Mul(rootTwoPi, wide(2)))
	}
	sum.Mul(sum, exactExp(wide(0).Mul(square, wide(-.5))))
	return wide(0).Sub(wide(.5), sum.Quo(sum, rootTwoPi))
}

var rootTwoPi *big.Float

// wrong is the relative error of got.
func wrong(got float64, want *big.Float) float64 {
	d := wide(0).Sub(wide(got), want)
	f, _ := d.Quo(d, want).Float64()
	return math.Abs(f)
}

func TestExpm1Error(t *testing.T) {
	x := append(arguments(-1, 1, 300), arguments(-36, 40, 200)...)
	x = append(x, arguments(-700, 700, 50)...)
	y := make([]float64, len(x))
	Expm1(y, x)
	for i := range x {
		want := exactExp(wide(x[i]))
		if e := wrong(y[i], want.Sub(want, wide(1))); e > 0x1p-50 {
			t.Errorf("%v: %v, error 2^%.1f", x[i], y[i], math.Log2(e))
		}
	}
}

// The logarithm is checked by its exponential: e^y (1 + error y) = 1 + x.
func TestLog1pError(t *testing.T) {
	x := append(arguments(-.999, 3, 400), arguments(3, 1e4, 50)...)
	x = append(x, 1e15, 9007199254740993, 1e17, 1e40, 1e299, -1+0x1p-53, -1+0x1p-30, 0)
	y := make([]float64, len(x))
	Log1p(y, x)
	for i := range x {
		if x[i] == 0 {
			if y[i] != 0 {
				t.Errorf("0: %v", y[i])
			}
			continue
		}
		ratio := exactExp(wide(-y[i]))
		ratio.Sub(ratio.Mul(ratio, wide(0).Add(wide(1), wide(x[i]))), wide(1))
		d, _ := ratio.Float64()
		if e := math.Abs(d / y[i]); !(e < 0x1p-50) {
			t.Errorf("%v: %v, error 2^%.1f", x[i], y[i], math.Log2(e))
		}
	}
}

func TestNormalTailsError(t *testing.T) {
	x := append(arguments(-9, 9, 120), arguments(0, 38.5, 120)...)
	up, lo := make([]float64, len(x)), make([]float64, len(x))
	NormalTails(up, lo, x)
	for i := range x {
		smaller, larger := up[i], lo[i]
		if x[i] < 0 {
			smaller, larger = larger, smaller
		}
		want := exactTail(math.Abs(x[i]))
		if f, _ := want.Float64(); f < 1e-307 {
			if math.Abs(f-smaller) > 1e-322 {
				t.Errorf("%v: %v, want %v", x[i], smaller, f)
			}
		} else if e := wrong(smaller, want); e > 0x1p-49 {
			t.Errorf("%v: %v, error 2^%.1f", x[i], smaller, math.Log2(e))
		}
		if e := wrong(larger, wide(0).Sub(wide(1), want)); e > 0x1p-49 {
			t.Errorf("%v: larger tail %v, error 2^%.1f", x[i], larger, math.Log2(e))
		}
	}
	for x, want := range map[float64][2]float64{math.Inf(1): {0, 1}, math.Inf(-1): {1, 0}, 1e300: {0, 1},
		0: {.5, .5}, math.Copysign(0, -1): {.5, .5}, 39: {0, 1}} {
		if up, lo := NormalTail(x); up != want[0] || lo != want[1] {
			t.Errorf("%v: %v %v, want %v", x, up, lo, want)
		}
	}
}

// All sets of kernels give the same bits, at every length and in place.
func TestSpecialKernels(t *testing.T) {
	defer func(l level) { active = l }(active)
	best := active
	tails := append(arguments(-42, 42, 5000), math.Inf(1), math.Inf(-1), 1e300, -1e300, 0,
		math.Copysign(0, -1))
	for name, tc := range map[string]struct {
		x  []float64
		of func(dst, x []float64)
	}{
		"expm1": {append(arguments(-700, 700, 5000), arguments(-2, 2, 5000)...), Expm1},
		"log1p": {append(arguments(-1, 5, 5000), 1e17, 1e300, -1+0x1p-53), Log1p},
		"above": {tails, func(dst, x []float64) { NormalTails(dst, make([]float64, len(x)), x) }},
		"below": {tails, func(dst, x []float64) { NormalTails(make([]float64, len(x)), dst, x) }},
	} {
		active = portable
		want := make([]float64, len(tc.x))
		tc.of(want, tc.x)
		for l := portable; l <= best; l++ {
			active = l
			for _, n := range []int{0, 1, 7, 8, 9, 17, len(tc.x)} {
				at := len(tc.x) - n
				got := append([]float64(nil), tc.x[at:]...)
				tc.of(got, got)
				for i := range got {
					if math.Float64bits(got[i]) != math.Float64bits(want[at+i]) {
						t.Fatalf("%s, %s, %d values: of %v %v, portable %v", name, levelNames[l], n,
							tc.x[at+i], got[i], want[at+i])
					}
				}
			}
		}
	}
}

func BenchmarkNormalTails(b *testing.B) {
	x, above, below := arguments(-8, 8, 1000), make([]float64, 2000), make([]float64, 2000)
	b.Run("vector", func(b *testing.B) {
		for b.Loop() {
			NormalTails(above, below, x)
		}
	})
	b.Run("erfc", func(b *testing.B) {
		for b.Loop() {
			for i, v := range x {
				above[i], below[i] = .5*math.Erfc(v/math.Sqrt2), .5*math.Erfc(-v/math.Sqrt2)
			}
		}
	})
}
