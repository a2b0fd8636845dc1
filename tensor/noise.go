package tensor

import (
	"encoding/binary"
	"math"
)

// BoxMuller turns uniform 64-bit words, little-endian, into independent standard normal
// values, two words (a, b) into dst[2i] and dst[2i+1]. It panics unless len(dst) is even
// and words holds 8 bytes for each.
//
//	u = (a + 1/2)/2^64, r = sqrt(-2 ln u)
//	z = 2 pi c/2^64, c the lower 62 bits of b, signed
//
// u lies in (0, 1], so that values end at 9.49 standard deviations; z is up to an eighth
// of a turn to either side of an axis. dst[2i] is r cos z and dst[2i+1] r sin z; where
// bit 62 of b is set the cosine is negated, and where bit 63 is, both change places after
// that.
//
// All is in double precision: 2^53 values of u above a half, more below, 2^62 values of z
// rounded to double precision, with ln and sin of relative error below 2^-50, cos too.
// Every set of kernels gives the same bits.
func BoxMuller(dst []float64, words []byte) {
	if len(dst)%2 != 0 || len(words) != 8*len(dst) {
		panic("tensor: BoxMuller needs 16 bytes for each pair")
	}
	for i := fastBoxMuller(dst, words); i < len(dst); i += 2 {
		dst[i], dst[i+1] = normalPair(binary.LittleEndian.Uint64(words[8*i:]),
			binary.LittleEndian.Uint64(words[8*i+8:]))
	}
}

// normalPair is BoxMuller of one pair.
func normalPair(a, b uint64) (x, y float64) {
	r := math.Sqrt(-2 * lnUniform(a))
	sin, cos := sincosEighth(b)
	if b>>62&1 == 1 {
		cos = -cos
	}
	if b>>63 == 1 {
		sin, cos = cos, sin
	}
	return r * cos, r * sin
}

// lnUniform is ln((a + 1/2)/2^64): the exponent's share, and a polynomial for the
// fraction, which lies in [2/3, 4/3).
func lnUniform(a uint64) float64 {
	t := math.Float64bits(float64(a)+.5) - (logOffset - 1<<52)
	exponent := float64(t>>52) - 65
	f := math.Float64frombits(t&(1<<52-1)+logOffset) - 1
	square := f * f
	p := math.FMA(f, polynomial(&logOdd, square), polynomial(&logEven, square))
	p = math.FMA(math.FMA(f, p, -.5), square, f)
	return math.FMA(exponent, math.Ln2, p)
}

// sincosEighth is the sine and cosine of z.
func sincosEighth(b uint64) (sin, cos float64) {
	z := float64(int64(b<<2)) * eighthTurn
	square := z * z
	sin = math.FMA(float64(square*z), horner6(&sinPoly, square), z)
	cos = math.FMA(float64(square*square), horner6(&cosPoly, square), math.FMA(square, -.5, 1))
	return sin, cos
}

// polynomial evaluates by Horner's rule, lowest coefficient first.
func polynomial(c *[9]float64, x float64) float64 {
	p := c[8]
	for i := 7; i >= 0; i-- {
		p = math.FMA(p, x, c[i])
	}
	return p
}

func horner6(c *[6]float64, x float64) float64 {
	p := c[5]
	for i := 4; i >= 0; i-- {
		p = math.FMA(p, x, c[i])
	}
	return p
}

// AddNoise sets x[i] = step round(x[i]/step + sigma z[i]), rounding to even: it adds
// noise in units of a grid and rounds the sum to a whole number of them, in double
// precision; the result is rounded to float32. sigma is in grid steps. Every set of
// kernels gives the same bits. It panics if x is shorter than z.
func AddNoise(x Vec, step, sigma float64, z []float64) {
	x = x[:len(z)]
	inv := 1 / step
	for i := fastAddNoise(x, inv, step, sigma, z); i < len(x); i++ {
		x[i] = onGrid(float64(float64(x[i])*inv), step, sigma, z[i])
	}
}

// AddNoiseGrid sets x[i] = step round(ratio grid[i] + sigma z[i]): AddNoise for exact
// integers, ratio being their unit over step. It panics if x or grid is shorter than z.
func AddNoiseGrid(x Vec, grid []int64, ratio, step, sigma float64, z []float64) {
	x, grid = x[:len(z)], grid[:len(z)]
	for i := fastAddNoiseGrid(x, grid, ratio, step, sigma, z); i < len(x); i++ {
		x[i] = onGrid(float64(float64(grid[i])*ratio), step, sigma, z[i])
	}
}

// AddNormals sets x[i] = step round(x[i]/step + sigma z[i]) with the normal values z that
// BoxMuller makes of words, where that is the rounding of the sum with an exact one:
// where u has at least as many bits after those of its word as decide it, and so has the
// angle. Other elements keep their value, and bit i%8 of undecided[i/8] is set; of words
// that are uniform it is about one in 250,000. step is a power of two, sigma, in steps,
// at most 2^21. Every set of kernels gives the same elements but for the choice of what
// is undecided, which may differ. It panics unless x has an even length, words 8 bytes
// for each element and undecided a bit.
func AddNormals(x Vec, words []byte, step, sigma float64, undecided []byte) {
	checkNormals(len(x), len(words), len(undecided))
	inv := 1 / step
	for i := fastAddNormals(x, words, undecided, inv, step, sigma); i < len(x); i += 2 {
		z := certainPair(words[8*i:])
		for k := i; k < i+2; k++ {
			settle(&x[k], float64(x[k])*inv, step, sigma, z[k-i], undecided, k)
		}
	}
}

// AddNormalsWide sets x[i] = step round(ratio value[i] + sigma z[i]): AddNormals for
// values in double precision, ratio being their unit over step, a power of two. It panics
// if value is shorter than x.
func AddNormalsWide(x Vec, value []float64, words []byte, ratio, step, sigma float64, undecided []byte) {
	checkNormals(len(x), len(words), len(undecided))
	value = value[:len(x)]
	for i := fastAddNormalsWide(x, value, words, undecided, ratio, step, sigma); i < len(x); i += 2 {
		z := certainPair(words[8*i:])
		for k := i; k < i+2; k++ {
			settle(&x[k], value[k]*ratio, step, sigma, z[k-i], undecided, k)
		}
	}
}

func checkNormals(n, words, undecided int) {
	if n%2 != 0 || words != 8*n || 8*undecided < n {
		panic("tensor: AddNormals needs 16 bytes and two bits for each pair")
	}
}

// certainty is a half less what docs/exact.md proves the error of sigma z to be below.
const certainty = .5 - 0x1p-20

// certainPair is the pair of normal values of two words, not numbers where the radius is
// not certain: u is too small for 64 bits, or too near 1 for double precision.
func certainPair(words []byte) [2]float64 {
	a := binary.LittleEndian.Uint64(words)
	x, y := normalPair(a, binary.LittleEndian.Uint64(words[8:]))
	if a+nearOneWords < leastRadiusWord+nearOneWords {
		x, y = math.NaN(), math.NaN()
	}
	return [2]float64{x, y}
}

// settle sets x to the rounded sum where it is certain, else its bit.
func settle(x *float32, value, step, sigma, z float64, undecided []byte, i int) {
	whole := math.RoundToEven(value)
	sum := math.FMA(sigma, z, value-whole)
	rounded := math.RoundToEven(sum)
	if i%8 == 0 {
		undecided[i/8] = 0
	}
	if !(math.Abs(sum-rounded) <= certainty) {
		undecided[i/8] |= 1 << (i % 8)
		return
	}
	*x = float32((whole + rounded) * step)
}

func onGrid(value, step, sigma, z float64) float32 {
	return float32(math.RoundToEven(math.FMA(sigma, z, value)) * step)
}
