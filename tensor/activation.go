package tensor

// Rectify sets y to x where x > 0 and to slope*x elsewhere. With slope 0 (ReLU) what is
// not positive gives +0, -Inf included. NaN gives NaN. The slices have one length.
func Rectify(y, x []float32, slope float32) {
	y = y[:len(x)]
	for i := fastRectify(y, x, slope); i < len(x); i++ {
		switch v := x[i]; {
		case !(v <= 0):
			y[i] = v
		case slope == 0:
			y[i] = 0
		default:
			y[i] = slope * v
		}
	}
}

// RectifyGradient sets dx to dy where x > 0 or is NaN, and to slope*dy elsewhere.
func RectifyGradient(dx, dy, x []float32, slope float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i := fastRectifyGradient(dx, dy, x, slope); i < len(x); i++ {
		if dx[i] = slope * dy[i]; !(x[i] <= 0) {
			dx[i] = dy[i]
		}
	}
}

// Mul sets dst = a*b, element by element. The slices have one length.
func Mul(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := fastMul(dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}

// Sigmoid returns 1/(1+e^-x) to an absolute error of 2e-7; NaN gives NaN.
func Sigmoid(x float32) float32 {
	e := Exp(-max(x, -x)) // at most 1
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// Tanhs sets y to Tanh of x and d to its derivative, element by element. The slices have
// one length.
func Tanhs(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i := fastTanh(y, d, x); i < len(x); i++ {
		t := Tanh(x[i])
		y[i], d[i] = t, 1-float32(t*t)
	}
}

// Sigmoids sets y to Sigmoid of x and d to its derivative, element by element. The slices
// have one length.
func Sigmoids(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i := fastSigmoid(y, d, x); i < len(x); i++ {
		s := Sigmoid(x[i])
		y[i], d[i] = s, s*(1-s)
	}
}

// GELUs sets y to GELU of x and d to its derivative, element by element. The slices have
// one length.
func GELUs(y, d, x []float32) {
	y, d = y[:len(x)], d[:len(x)]
	for i := fastGELU(y, d, x); i < len(x); i++ {
		y[i], d[i] = GELU(x[i])
	}
}

// GELU returns x/2 (1 + tanh(sqrt(2/pi) (x + .044715 x^3))) and its derivative: the tanh
// form of Hendrycks and Gimpel (2016, "Gaussian Error Linear Units"). Beyond +-10 the
// tanh is +-1. -Inf and NaN give NaN.
func GELU(x float32) (value, derivative float32) {
	const a, b = 0.7978845608028654, 0.044715 // sqrt(2/pi)
	c := max(min(x, 10), -10)
	q := float32(c * c)
	t := Tanh(float32(a*c) * (1 + float32(b*q)))
	slope := float32(a * (1 + float32(3*b*q)))
	half := 0.5 * (1 + t)
	return x * half, half + float32(float32(0.5*c)*float32((1-float32(t*t))*slope))
}
