package tensor

import "math"

// Limits of Exp: below expLow the result is 0 (the smallest normal float32 is
// exp(-87.336)), above expHigh it is +Inf.
const (
	expLow  = -87.33654
	expHigh = 88.72283
)

// Exp returns e^x to a relative error of 2e-7. Results that would be subnormal are 0; NaN
// gives NaN.
//
// x = n ln 2 + r with |r| <= ln(2)/2, n ln 2 subtracted in two parts (Cody and Waite
// 1980), e^r by the degree-6 polynomial whose upper coefficients are the minimax ones of
// Moshier's Cephes library (expf).
func Exp(x float32) float32 {
	if !(x >= expLow && x <= expHigh) {
		return expOutside(x)
	}
	const round = 3 << 22 // adding it leaves the nearest integer in the low bits of the mantissa
	t := float32(x*math.Log2E) + round
	n := int32(math.Float32bits(t)) - 0x4b400000
	f := t - round
	r := x - float32(f*0.693359375)
	r -= float32(f * -2.12194440e-4)
	p := float32(1.9875691500e-4*r) + 1.3981999507e-3
	p = float32(p*r) + 8.3334519073e-3
	p = float32(p*r) + 4.1665795894e-2
	p = float32(p*r) + 1.6666665459e-1
	p = float32(p*r) + 5.0000001201e-1
	p = float32(p*float32(r*r)) + r + 1
	// 2^n in two factors, because n = 128 is no exponent of a float32.
	h := n >> 1
	return p * math.Float32frombits(uint32(h+127)<<23) * math.Float32frombits(uint32(n-h+127)<<23)
}

func expOutside(x float32) float32 {
	switch {
	case x > expHigh:
		return float32(math.Inf(1))
	case x < expLow:
		return 0
	}
	return x
}

// mishLimit is where tanh(ln(1+e^x)) is 1 in float32 and Mish the identity.
const mishLimit = 20

// Mish returns x*tanh(ln(1+e^x)) and its derivative (Misra 2019). With e = e^x and n =
// e(e+2),
//
//	tanh(ln(1+e)) = n/(n+2),   Mish'(x) = n/(n+2) + 4 x e (1+e)/(n+2)^2
//
// -Inf and NaN give NaN.
func Mish(x float32) (value, derivative float32) {
	u := min(x, mishLimit)
	e := Exp(u)
	n := float32(e * (e + 2))
	r := 1 / (n + 2)
	t := float32(n * r)
	g := float32(float32(4*u) * float32(e*r))
	return x * t, t + float32(g*float32((1+e)*r))
}

// Mishes sets y to Mish of x and d to its derivative, element by element with the bits of
// Mish. The slices have one length.
func Mishes(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i := fastMish(y, d, x); i < len(x); i++ {
		y[i], d[i] = Mish(x[i])
	}
}

// Tanh returns the hyperbolic tangent to an absolute error of 2e-7; NaN gives NaN.
func Tanh(x float32) float32 {
	e := Exp(max(min(2*x, mishLimit), -mishLimit))
	return 1 - float32(2/(e+1))
}

// SumSquares returns the sum of squares of x in float64: by assembly 16 interleaved sums,
// added by halves; in Go four, sum j over the elements j, j+4, j+8, ..., added as
// (0+1)+(2+3), then the remaining elements in order.
func SumSquares(x []float32) float64 {
	if len(x) == 1 { // gradients of one output are common
		return float64(x[0]) * float64(x[0])
	}
	if s, ok := fastSquares(x); ok {
		return s
	}
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	s := (s0 + s1) + (s2 + s3)
	for _, v := range x {
		s += float64(float64(v) * float64(v))
	}
	return s
}

// ScaleToward sets x = f*x for 0 <= f <= 1 with every element rounded toward zero, so
// that no element is ever larger than f times the old one, as float64 rounds that,
// subnormal results included. With f = 0 infinite elements become NaN.
func ScaleToward(x []float32, f float64) {
	x = x[fastScaleToward(x, f):]
	for i, v := range x {
		x[i] = scaledToward(v, f)
	}
}

func scaledToward(v float32, f float64) float32 {
	exact := f * float64(v)
	y := float32(exact)
	var away uint32 // not a branch: every second one would be foreseen wrongly
	if math.Abs(float64(y)) > math.Abs(exact) {
		away = 1
	}
	return math.Float32frombits(math.Float32bits(y) - away)
}

// ScaleRowsToward is ScaleToward of each row of m with its own factor.
func ScaleRowsToward(m Mat, f []float64) {
	f = f[:m.Rows]
	for i, factor := range f {
		switch {
		case m.Cols == 1:
			m.Data[i*m.Stride] = scaledToward(m.Data[i*m.Stride], factor)
		case factor != 1:
			ScaleToward(m.Row(i), factor)
		}
	}
}
