package tensor

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"sotto/internal/long"
)

// precision is the precision of the references below, in bits.
const precision = 160

func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// bigLn is ln x = 2 atanh((x-1)/(x+1)) + e ln 2 with x scaled into [2/3, 4/3).
func bigLn(x *big.Float) *big.Float {
	m := new(big.Float).SetPrec(precision)
	e := x.MantExp(m) // m in [1/2, 1)
	if m.Cmp(exact(2./3)) < 0 {
		m.SetMantExp(m, 1)
		e--
	}
	sum := atanh2(m)
	return sum.Add(sum, new(big.Float).SetPrec(precision).Mul(exact(float64(e)), atanh2(exact(2))))
}

// atanh2 is 2 atanh((x-1)/(x+1)) = ln x by its series.
func atanh2(x *big.Float) *big.Float {
	one := exact(1)
	s := new(big.Float).SetPrec(precision).Quo(new(big.Float).SetPrec(precision).Sub(x, one),
		new(big.Float).SetPrec(precision).Add(x, one))
	square, term, sum := new(big.Float).SetPrec(precision).Mul(s, s),
		new(big.Float).SetPrec(precision).Set(s), new(big.Float).SetPrec(precision)
	for k := 1; k < 120; k += 2 {
		sum.Add(sum, new(big.Float).SetPrec(precision).Quo(term, exact(float64(k))))
		term.Mul(term, square)
	}
	return sum.Mul(sum, exact(2))
}

// bigSincos sums the Taylor series at x, |x| < 1.
func bigSincos(x *big.Float) (sin, cos *big.Float) {
	sin, cos = new(big.Float).SetPrec(precision), new(big.Float).SetPrec(precision)
	term := exact(1)
	for k := range 40 {
		switch k % 4 {
		case 0:
			cos.Add(cos, term)
		case 1:
			sin.Add(sin, term)
		case 2:
			cos.Sub(cos, term)
		case 3:
			sin.Sub(sin, term)
		}
		term = new(big.Float).SetPrec(precision).Quo(term.Mul(term, x), exact(float64(k+1)))
	}
	return sin, cos
}

// relative is |got - want|/|want|.
func relative(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(precision).Sub(exact(got), want)
	if want.Sign() == 0 {
		return math.Abs(got)
	}
	r, _ := d.Quo(d, want).Float64()
	return math.Abs(r)
}

// edgeWords are words around every power of two and the fractions where the logarithm's
// branches meet.
func edgeWords() []uint64 {
	var w []uint64
	for k := range 64 {
		p := uint64(1) << k
		w = append(w, p-1, p, p+1, -p, p/3*4, p/3*4+1, p/3*2, p+p/2)
	}
	return append(w, 0, 1, ^uint64(0), ^uint64(0)-1)
}

func testWords(n int) []uint64 {
	w, seed := edgeWords(), uint64(3)
	for len(w) < n {
		seed = seed*6364136223846793005 + 1442695040888963407
		w = append(w, (seed^seed>>29)>>(seed>>58)) // all magnitudes
	}
	return w
}

// boundWords are what error bounds are measured on: the edges and 2,000 words together,
// 8,000 with the tag long. References of 160 bits take a tenth of a millisecond each.
func boundWords() []uint64 {
	if long.Tests {
		return testWords(8_000)
	}
	return testWords(2_000)
}

func TestLogarithmBound(t *testing.T) {
	worst := 0.
	for _, a := range boundWords() {
		u := exact(float64(a) + .5) // rounded: u = 2^-64 times this
		u.SetMantExp(u, -64)
		e := relative(lnUniform(a), bigLn(u))
		if e > 0x1p-50 {
			t.Fatalf("ln of word %#x: relative error %g", a, e)
		}
		worst = max(worst, e)
	}
	t.Logf("largest relative error 2^%.2f", math.Log2(worst))
}

func TestSincosBound(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459", 10,
		precision, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.
	for _, b := range boundWords() {
		z := new(big.Float).SetPrec(precision).SetInt64(int64(b << 2))
		z.SetMantExp(z.Mul(z, pi), -65)
		wantSin, wantCos := bigSincos(z)
		sin, cos := sincosEighth(b)
		e := max(relative(sin, wantSin), relative(cos, wantCos))
		if e > 0x1p-50 {
			t.Fatalf("sin and cos of word %#x: relative error %g", b, e)
		}
		worst = max(worst, e)
	}
	t.Logf("largest relative error 2^%.2f", math.Log2(worst))
}

// The eight directions at angle 0 and next to the diagonals: the upper bits choose an
// axis, and together they go once around.
func TestDirectionsGoOnceAround(t *testing.T) {
	const a = 1 << 40
	r := math.Sqrt(-2 * lnUniform(a))
	for _, c := range []struct {
		b    uint64
		x, y float64
	}{
		{0, 1, 0}, {1 << 62, -1, 0}, {1 << 63, 0, 1}, {3 << 62, 0, -1},
		{1<<61 - 1, math.Sqrt2 / 2, math.Sqrt2 / 2}, {1 << 61, math.Sqrt2 / 2, -math.Sqrt2 / 2},
		{1<<63 + 1<<61 - 1, math.Sqrt2 / 2, math.Sqrt2 / 2}, {1<<63 + 1<<61, -math.Sqrt2 / 2, math.Sqrt2 / 2},
	} {
		if x, y := normalPair(a, c.b); math.Abs(x/r-c.x) > 1e-15 || math.Abs(y/r-c.y) > 1e-15 {
			t.Errorf("direction of %#x is (%g, %g), want (%g, %g)", c.b, x/r, y/r, c.x, c.y)
		}
	}
}

func TestTailEnds(t *testing.T) {
	x, y := normalPair(0, 0) // the smallest uniform, 2^-65
	if want := math.Sqrt(130 * math.Ln2); y != 0 || math.Abs(x-want) > 1e-14 {
		t.Errorf("the largest value is (%g, %g), want %g", x, y, want)
	}
	if x, y := normalPair(^uint64(0), 5); x != 0 || y != 0 {
		t.Errorf("the uniform 1 gives (%g, %g)", x, y)
	}
}

// checkNoise compares every set of kernels with the twin, bit for bit, on all three
// functions.
func checkNoise(t *testing.T, w []uint64, sigma float64) {
	t.Helper()
	w = w[:len(w)&^1]
	b := make([]byte, 8*len(w))
	for i, x := range w {
		binary.LittleEndian.PutUint64(b[8*i:], x)
	}
	type result struct {
		z            []float64
		float, whole Vec
	}
	var want result
	each(func(l level) {
		got := result{make([]float64, len(w)), make(Vec, len(w)), make(Vec, len(w))}
		BoxMuller(got.z, b)
		grid := make([]int64, len(w))
		for i, x := range w {
			got.float[i] = math.Float32frombits(uint32(x >> 7))
			grid[i] = int64(x) >> (x & 63)
		}
		AddNoise(got.float, 0x1p-20*.7, sigma, got.z)
		AddNoiseGrid(got.whole, grid, .75, 0x1p-20*.7, sigma, got.z)
		if l == portable {
			want = got
			return
		}
		for i := range w {
			if math.Float64bits(got.z[i]) != math.Float64bits(want.z[i]) {
				t.Fatalf("%s: value %d of words %#x: %v, want %v", levelNames[l], i, w[i&^1:i|1+1], got.z[i],
					want.z[i])
			}
			if !sameBits(got.float[i], want.float[i]) || !sameBits(got.whole[i], want.whole[i]) {
				t.Fatalf("%s: element %d: %v and %v, want %v and %v", levelNames[l], i, got.float[i],
					got.whole[i], want.float[i], want.whole[i])
			}
		}
	})
}

func TestNoiseKernelsGiveTheSameBits(t *testing.T) {
	all := testWords(50_000)
	checkNoise(t, all, 1.3e6)
	for n := range 70 {
		checkNoise(t, all[n:2*n], float64(n))
	}
}

func FuzzNoise(f *testing.F) {
	f.Add(uint64(1), uint8(40), 1.0)
	f.Add(uint64(1<<63), uint8(7), 1e300)
	f.Add(^uint64(0), uint8(255), math.Inf(1))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, sigma float64) {
		w := make([]uint64, n)
		for i := range w {
			w[i] = seed >> (i & 3)
			seed = seed*6364136223846793005 + 1442695040888963407
		}
		checkNoise(t, w, sigma)
	})
}

// The sum is the nearest whole number of steps, ties to even, whatever the value.
func TestAddNoiseRounds(t *testing.T) {
	each(func(l level) {
		x := Vec{0, 1, 2.5, -2.5, 3.5, 1e6, -.25, 7, 0, 0}
		grid := []int64{0, 1, 5, -5, 7, 2e6, -1, 14, 1 << 62, math.MinInt64}
		z := []float64{.5, .5, 0, 0, 0, .25, 0, -7.5, 0, 0}
		AddNoise(x[:8], 1, 1, z[:8])
		for i, want := range []float32{0, 2, 2, -2, 4, 1e6, 0, 0} {
			if x[i] != want {
				t.Errorf("%s: element %d is %v, want %v", levelNames[l], i, x[i], want)
			}
		}
		AddNoiseGrid(x, grid, .5, 2, 1, z)
		for i, want := range []float32{0, 2, 4, -4, 8, 2e6, 0, 0, 1 << 62, -1 << 63} {
			if x[i] != want {
				t.Errorf("%s: element %d on the grid is %v, want %v", levelNames[l], i, x[i], want)
			}
		}
	})
}

func TestBoxMullerWantsPairs(t *testing.T) {
	for _, c := range [][2]int{{3, 24}, {2, 15}, {4, 16}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values of %d bytes were accepted", c[0], c[1])
				}
			}()
			BoxMuller(make([]float64, c[0]), make([]byte, c[1]))
		}()
	}
}

func BenchmarkBoxMuller(b *testing.B) {
	w, z, x := make([]byte, 4096), make([]float64, 512), make(Vec, 512)
	for i := range w {
		w[i] = byte(i * i >> 3)
	}
	each(func(l level) {
		b.Run(levelNames[l], func(b *testing.B) {
			for b.Loop() {
				BoxMuller(z, w)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/value")
		})
		b.Run(levelNames[l]+"/add", func(b *testing.B) {
			for b.Loop() {
				AddNoise(x, 1, 1, z)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/value")
		})
	})
}
