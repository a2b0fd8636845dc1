package tensor

import "math"

// Functions in double precision. Every set of kernels gives the same bits, and so does
// every machine.

// Expm1 writes e^x - 1 for each of x in -700 to 700, with a relative error below 2^-50.
// dst may be x. It panics where dst is shorter.
func Expm1(dst, x []float64) {
	dst = dst[:len(x)]
	for i := fastExpm1(dst, x); i < len(x); i++ {
		k, r := reduced(x[i])
		s := power(k)
		dst[i] = math.FMA(s, fraction(r), s-1)
	}
}

// Log1p writes ln(1+x) for each of x above -1 to 1e300, with a relative error below
// 2^-50. dst may be x. It panics where dst is shorter.
func Log1p(dst, x []float64) {
	dst = dst[:len(x)]
	for i := fastLog1p(dst, x); i < len(x); i++ {
		w := x[i] + 1
		lost := (x[i] - (w - 1)) / w
		t := math.Float64bits(w) - (logOffset - 64<<52)
		exponent := float64(t>>52) - 64
		f := math.Float64frombits(t&(1<<52-1)+logOffset) - 1
		square := f * f
		p := math.FMA(f, polynomial(&logOdd, square), polynomial(&logEven, square))
		p = math.FMA(math.FMA(f, p, -.5), square, f) + lost
		dst[i] = math.FMA(exponent, math.Ln2, p)
	}
}

// NormalTails writes the probabilities that a standard normal value lies above and below
// each of x, with a relative error below 2^-49 down to probabilities of 1e-307; the error
// of smaller ones is below 1e-322. It panics where above or below is shorter.
func NormalTails(above, below, x []float64) {
	above, below = above[:len(x)], below[:len(x)]
	for i := fastNormalTails(above, below, x); i < len(x); i++ {
		above[i], below[i] = NormalTail(x[i])
	}
}

// NormalTail is [NormalTails] of one x. With y = |x|/sqrt(2) the smaller tail is
//
//	e^(-x^2/2) / 2 times ((1 + 2y) e^(y^2) erfc(y)) / (1 + 2y),
//
// where what is lost by rounding x^2 is made up for in the exponent, and the factor in
// brackets is a polynomial.
func NormalTail(x float64) (above, below float64) {
	a := min(math.Abs(x), farthest)
	square := a * a
	lost := .5 * math.FMA(a, a, -square)
	k, r := reduced(-.5 * square)
	e := fraction(r-lost) + 1
	half := math.RoundToEven(.5 * k)
	y := a * (math.Sqrt2 / 2)
	s := (y - tailCentre) / (y + tailCentre)
	g := tailPoly[len(tailPoly)-1]
	for j := len(tailPoly) - 2; j >= 0; j-- {
		g = math.FMA(g, s, tailPoly[j])
	}
	tail := .5 * (g * e / (y + y + 1)) * power(half) * power(k-half)
	if math.Signbit(x) {
		return 1 - tail, tail
	}
	return tail, 1 - tail
}

// reduced returns the multiple k of ln 2 next to x, and x less that.
func reduced(x float64) (k, r float64) {
	k = math.RoundToEven(float64(x * math.Log2E))
	return k, math.FMA(-k, ln2Rest, math.FMA(-k, math.Ln2, x))
}

// fraction is e^r - 1 for |r| <= ln(2)/2.
func fraction(r float64) float64 {
	p := expPoly[len(expPoly)-1]
	for j := len(expPoly) - 2; j >= 0; j-- {
		p = math.FMA(p, r, expPoly[j])
	}
	return math.FMA(r*r, p, r)
}

// power is 2^k for a whole number k from -1022 to 1023.
func power(k float64) float64 { return math.Float64frombits(math.Float64bits(k+powerMagic) << 52) }
