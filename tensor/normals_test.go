package tensor

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
)

// series is a power series less a polynomial: coefficients c[k] - a(k) up to the
// polynomial's degree, then -a(k).
type series struct {
	c []float64
	a func(k int) *big.Float
}

func (s series) at(k int) *big.Float {
	d := exact(0)
	if k < len(s.c) {
		d.SetFloat64(s.c[k])
	}
	return d.Sub(d, s.a(k))
}

// most bounds |sum of the series| on [lo, hi], |lo|, |hi| <= r < 1: at the middles of n
// cells it is summed with its derivative, and a bound of the second derivative says how
// much more it can be elsewhere.
func (s series) most(lo, hi, r float64, n int) float64 {
	const terms = 60 // r^60 times any coefficient is far below 2^-60
	coefficients := make([]*big.Float, terms)
	second := 0.
	for k := range coefficients {
		coefficients[k] = s.at(k)
		f, _ := coefficients[k].Float64()
		if k > 1 {
			second += math.Abs(f) * float64(k*(k-1)) * math.Pow(r, float64(k-2))
		}
	}
	half := (hi - lo) / float64(2*n)
	worst := 0.
	for i := range n {
		x := exact(lo + half*float64(2*i+1))
		value, slope := exact(0), exact(0)
		for k := terms - 1; k >= 0; k-- {
			slope.Mul(slope, x).Add(slope, value)
			value.Mul(value, x).Add(value, coefficients[k])
		}
		v, _ := value.Float64()
		d, _ := slope.Float64()
		worst = max(worst, math.Abs(v)+half*math.Abs(d)+half*half/2*second)
	}
	return worst * (1 + 1e-6)
}

// The polynomials of BoxMuller are as near to ln, sin and cos as docs/exact.md needs,
// over their whole intervals: the relative errors are below 2^-48.
func TestPolynomialsOverTheirIntervals(t *testing.T) {
	fraction := func(num int64, den *big.Int) *big.Float {
		x := new(big.Float).SetPrec(precision).SetInt64(num)
		return x.Quo(x, new(big.Float).SetPrec(precision).SetInt(den))
	}
	sign := func(k int) int64 { return int64(1 - 2*(k%2)) }
	factorial := func(n int64) *big.Int { return new(big.Int).MulRange(1, n) }

	var ln []float64
	for k := range logEven {
		ln = append(ln, logEven[k], logOdd[k])
	}
	const third, quarter = 1. / 3, .6168502750680849 // (pi/4)^2, rounded up
	// |ln(1+f)| >= |f| ln(4/3) 3, and the error is f^3 times the difference.
	logarithm := third * third / (3 * math.Log(4./3)) * series{ln, func(k int) *big.Float {
		return fraction(sign(k), big.NewInt(int64(k+3)))
	}}.most(-third, third, third, 1<<13)
	// |sin z| >= .9 z up to pi/4, and the error is z^3 times the difference.
	sine := quarter / .9 * series{sinPoly[:], func(k int) *big.Float {
		return fraction(-sign(k), factorial(int64(2*k+3)))
	}}.most(0, quarter, quarter, 1<<10)
	// cos z >= .7, and the error is z^4 times the difference.
	cosine := quarter * quarter / .7 * series{cosPoly[:], func(k int) *big.Float {
		return fraction(sign(k), factorial(int64(2*k+4)))
	}}.most(0, quarter, quarter, 1<<10)
	for name, e := range map[string]float64{"ln": logarithm, "sin": sine, "cos": cosine} {
		t.Logf("%s: relative error below 2^%.2f", name, math.Log2(e))
		if !(e < math.Exp2(-48.5)) {
			t.Errorf("%s: relative error %g", name, e)
		}
	}
}

// checkSettled compares every set of kernels with the twin: what is settled, what is
// left, and all bits.
func checkSettled(t *testing.T, w []uint64, sigma float64) {
	t.Helper()
	w = w[:len(w)&^1]
	b := make([]byte, 8*len(w))
	for i, x := range w {
		binary.LittleEndian.PutUint64(b[8*i:], x)
	}
	type result struct {
		float, wide     Vec
		undecided, left []byte
		sum             []float64
	}
	var want result
	each(func(l level) {
		got := result{make(Vec, len(w)), make(Vec, len(w)), make([]byte, len(w)/8+1),
			make([]byte, len(w)/8+1), make([]float64, len(w))}
		wide := make([]float64, len(w))
		for i, x := range w {
			got.float[i] = float32(int32(x>>20)) / 7
			wide[i] = float64(int64(x)) / 3
			got.sum[i] = wide[i]
		}
		AddWide(got.sum, got.float)
		AddNormals(got.float, b, 0x1p-20, sigma, got.undecided)
		AddNormalsWide(got.wide, wide, b, 0x1p-30, .7, sigma, got.left)
		if l == portable {
			want = got
			return
		}
		for i := range w {
			bit := byte(1) << (i % 8)
			if (got.undecided[i/8]^want.undecided[i/8])&bit != 0 || (got.left[i/8]^want.left[i/8])&bit != 0 {
				t.Fatalf("%s: element %d of words %#x is decided, or not, unlike in Go", levelNames[l], i,
					w[i&^1:i|1+1])
			}
			if !sameBits(got.float[i], want.float[i]) ||
				got.left[i/8]&bit == 0 && !sameBits(got.wide[i], want.wide[i]) {
				t.Fatalf("%s: element %d: %v and %v, want %v and %v", levelNames[l], i, got.float[i],
					got.wide[i], want.float[i], want.wide[i])
			}
			if math.Float64bits(got.sum[i]) != math.Float64bits(want.sum[i]) {
				t.Fatalf("%s: sum %d is %v, want %v", levelNames[l], i, got.sum[i], want.sum[i])
			}
		}
	})
}

func TestSettledNormalsAreTheSame(t *testing.T) {
	all := testWords(50_000)
	checkSettled(t, all, 1.3*(1<<20))
	for n := range 70 {
		checkSettled(t, all[n:2*n], 1<<20)
	}
}

func FuzzNormals(f *testing.F) {
	f.Add(uint64(1), uint8(40), 0.)
	f.Add(^uint64(0), uint8(255), 1.)
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, sigma float64) {
		w := make([]uint64, n)
		for i := range w {
			w[i] = seed >> (i & 3)
			seed = seed*6364136223846793005 + 1442695040888963407
		}
		checkSettled(t, w, (1<<20)*(1+math.Abs(math.Mod(sigma, 1))))
	})
}

func TestAddNormalsWantsPairs(t *testing.T) {
	for _, c := range [][3]int{{3, 24, 1}, {2, 15, 1}, {4, 16, 1}, {16, 128, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values of %d bytes and %d of bits were accepted", c[0], c[1], c[2])
				}
			}()
			AddNormals(make(Vec, c[0]), make([]byte, c[1]), 1, 1<<20, make([]byte, c[2]))
		}()
	}
}
