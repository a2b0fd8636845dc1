package loss

import (
	"math"
	"math/big"
	"sync"
)

// SampledGaussianRenyi is the Renyi divergence of order a > 1 of the Poisson-sampled
// Gaussian mechanism of rate q and effective noise multiplier s under add-remove
// (Mironov, Talwar, Zhang 2019), remove direction, which is the larger one. Integer
// orders use the binomial sum, others quadrature (not the binomial series, which is loose
// or divergent).
func SampledGaussianRenyi(q, s, a float64) float64 {
	switch {
	case s == 0:
		return math.Inf(1)
	case q == 0 || math.IsInf(s, 1):
		return 0
	case q == 1:
		return a / (2 * s * s)
	case a == math.Trunc(a) && a <= 4096:
		return sampledInteger(q, s, int(a)) / (a - 1)
	}
	return sampledQuadrature(q, s, a) * (1 + quadratureSlack) / (a - 1)
}

// quadratureSlack covers the error of curves that come from quadrature.
const quadratureSlack = 5e-10

// sampledInteger is ln A(a): A - 1 = sum_{k>=2} C(a,k) q^k (1-q)^(a-k) expm1((k^2-k)/(2
// s^2)), all terms positive.
func sampledInteger(q, s float64, a int) float64 {
	lnQ, ln1Q, c := math.Log(q), math.Log1p(-q), 1/(2*s*s)
	ln := make([]float64, 0, a)
	choose := math.Log(float64(a))
	for k := 2; k <= a; k++ {
		choose += math.Log(float64(a-k+1) / float64(k))
		x := float64(k) * float64(k-1) * c
		lnExpm1 := math.Log(math.Expm1(x))
		if x > 30 {
			lnExpm1 = x + math.Log1p(-math.Exp(-x))
		}
		ln = append(ln, choose+float64(k)*lnQ+float64(a-k)*ln1Q+lnExpm1)
	}
	return softplus(LogSumExp(ln...))
}

// softplus is ln(1 + e^x).
func softplus(x float64) float64 {
	if x > 36 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// maxNodes bounds the work of one quadrature.
const maxNodes = 1 << 14

// sampledQuadrature is ln A(a) for any a > 1. With u(z) = ln(1-q+q exp((2z-1)/(2 s^2))),
// E[exp u] = 1 under N(0, s^2), so A - 1 = E[expm1(a u) - a expm1(u)], whose integrand is
// not negative. The trapezoid rule converges exponentially for it; nodes are doubled
// until two results agree to 1e-11. Where that takes more than maxNodes (noise far below
// the sensitivity) the divergence without sampling is returned.
func sampledQuadrature(q, s, a float64) float64 {
	lo, hi := -14*s, a+14*s
	lnQ, ln1Q := math.Log(q), math.Log1p(-q)
	u := func(z float64) float64 { return logAddExp(ln1Q, lnQ+(2*z-1)/(2*s*s)) }
	term := func(z float64) float64 { return smallConvex(a, u(z)) * math.Exp(-z*z/(2*s*s)) }
	logs := a*u(hi) > 600
	scale := 0.0
	if logs { // factor out the peak of exp(a u - z^2/(2 s^2)), found on the first grid
		term = func(z float64) float64 {
			v, w := u(z), -z*z/(2*s*s)-scale
			if a*v < 300 {
				return smallConvex(a, v) * math.Exp(w)
			}
			return math.Exp(a*v+w) - a*math.Exp(v+w)
		}
		scale = math.Inf(-1)
		for i := 0; i <= 4000; i++ {
			z := lo + (hi-lo)*float64(i)/4000
			scale = math.Max(scale, a*u(z)-z*z/(2*s*s))
		}
	}
	nodes := math.Max(64, math.Ceil((hi-lo)/s*4))
	if nodes > maxNodes/4 {
		return (a - 1) * a / (2 * s * s) // sampling never costs more than no sampling
	}
	n := int(nodes)
	sum := 0.5 * (term(lo) + term(hi))
	for i := 1; i < n; i++ {
		sum += term(lo + (hi-lo)*float64(i)/float64(n))
	}
	last := sum / float64(n)
	for {
		if n > maxNodes {
			return (a - 1) * a / (2 * s * s)
		}
		for i := 0; i < n; i++ {
			sum += term(lo + (hi-lo)*(float64(i)+0.5)/float64(n))
		}
		n *= 2
		now := sum / float64(n)
		done := math.Abs(now-last) <= 1e-11*now
		last = now
		if done {
			break
		}
	}
	integral := last * (hi - lo) / (s * math.Sqrt(2*math.Pi))
	if logs {
		return softplus(scale + math.Log(integral))
	}
	return math.Log1p(integral)
}

// smallConvex is expm1(a u) - a expm1(u) = sum_{k>=2} (a^k - a) u^k/k!, by the series
// where it would cancel.
func smallConvex(a, u float64) float64 {
	if math.Abs(a*u) > 0.02 {
		return math.Expm1(a*u) - a*math.Expm1(u)
	}
	var sum float64
	uk, ak, fact := u, a, 1.0
	for k := 2; k <= 9; k++ {
		uk *= u
		ak *= a
		fact *= float64(k)
		sum += (ak - a) * uk / fact
	}
	return sum
}

func logAddExp(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	return x + math.Log1p(math.Exp(y-x))
}

// maxDifferenceOrder is where the forward differences of fixedSizeInteger stop being
// worth their precision.
const maxDifferenceOrder = 256

// FixedSizeRenyi is the curve of the Gaussian mechanism on a batch drawn without
// replacement, under replace-one (Wang, Balle, Kasiviswanathan 2019, Theorem 27), for
// noise s relative to the replace-one sensitivity. (a-1) R(a) is convex, so orders
// between integers are interpolated.
func FixedSizeRenyi(q, s float64) func(a float64) float64 {
	if s == 0 {
		return func(float64) float64 { return math.Inf(1) }
	}
	if q == 1 || math.IsInf(s, 1) {
		mu := 1 / s
		return func(a float64) float64 { return a * mu * mu / 2 }
	}
	// Only a reader of the curve needs them; whether there is one is asked more often.
	diff := sync.OnceValue(func() []float64 { return lnForwardDifferences(s) })
	cache := map[int]float64{1: 0}
	at := func(a int) float64 {
		if _, ok := cache[a]; !ok {
			cache[a] = fixedSizeInteger(q, s, a, diff())
		}
		return cache[a]
	}
	return func(a float64) float64 {
		if a > 1<<14 {
			return math.Inf(1)
		}
		lo := math.Floor(a)
		x := at(int(lo))
		if lo < a {
			x += (a - lo) * (at(int(lo)+1) - x)
		}
		return x / (a - 1)
	}
}

// fixedSizeInteger is (a-1) R(a) for an integer a >= 2.
func fixedSizeInteger(q, s float64, a int, diff []float64) float64 {
	r := func(j float64) float64 { return j / (2 * s * s) }
	lnQ := math.Log(q)
	choose := math.Log(float64(a)) + math.Log(float64(a-1)/2)
	second := math.Min(math.Log(4)+r(2)+math.Log(-math.Expm1(-r(2))), math.Ln2+r(2))
	terms := append(make([]float64, 0, a), 2*lnQ+choose+second)
	for j := 3; j <= a; j++ {
		choose += math.Log(float64(a-j+1) / float64(j))
		term := math.Ln2 + float64(j-1)*r(float64(j))
		if j <= maxDifferenceOrder {
			term = math.Min(term, math.Log(4)+(diff[2*(j/2)]+diff[2*((j+1)/2)])/2)
		}
		terms = append(terms, float64(j)*lnQ+choose+term)
	}
	return softplus(LogSumExp(terms...))
}

// lnForwardDifferences returns, for even k up to maxDifferenceOrder, the logarithm of the
// k-th forward difference at 0 of x -> exp((x-1) r(x)) = exp(x(x-1)/(2 s^2)). The
// alternating sums cancel, hence 640 bits; what cancels even then, or has a longer
// exponent than a big.Float, is +Inf.
func lnForwardDifferences(s float64) []float64 {
	out := make([]float64, maxDifferenceOrder+2)
	c := 1 / (2 * s * s)
	if c*maxDifferenceOrder*maxDifferenceOrder > 1e9 {
		for k := range out {
			out[k] = math.Inf(1)
		}
		return out
	}
	prec := uint(640)
	e := make([]*big.Float, maxDifferenceOrder+1) // exp(c x (x-1))
	step := BigExp(2*c, prec)                     // ratio of consecutive ratios
	ratio := new(big.Float).SetPrec(prec).SetInt64(1)
	e[0] = new(big.Float).SetPrec(prec).SetInt64(1)
	for x := 1; x <= maxDifferenceOrder; x++ { // e[x] = e[x-1] exp(2c (x-1))
		e[x] = new(big.Float).SetPrec(prec).Mul(e[x-1], ratio)
		ratio = new(big.Float).SetPrec(prec).Mul(ratio, step)
	}
	size := make([]int, len(e))
	for x := range e {
		size[x] = e[x].MantExp(nil)
	}
	d := e
	for k := 1; k <= maxDifferenceOrder; k++ {
		for x := 0; x+k <= maxDifferenceOrder; x++ {
			d[x].Sub(d[x+1], d[x])
		}
		if k%2 == 0 {
			m := new(big.Float)
			exp := d[0].MantExp(m)
			f, _ := m.Float64()
			out[k] = math.Log(f) + float64(exp)*math.Ln2
			if d[0].Sign() <= 0 || exp < size[k]+k-int(prec)+60 { // cancelled: the caller has a second bound
				out[k] = math.Inf(1)
			}
		}
	}
	return out
}

// BigExp is e^x for x >= 0 by halving, the power series and squaring.
func BigExp(x float64, prec uint) *big.Float {
	halvings := 0
	y := new(big.Float).SetPrec(prec + 64).SetFloat64(x)
	for f := x; f > 0.5; f /= 2 {
		halvings++
	}
	y.SetMantExp(y, -halvings)
	sum := new(big.Float).SetPrec(prec + 64).SetInt64(1)
	term := new(big.Float).SetPrec(prec + 64).SetInt64(1)
	for k := int64(1); k < 400; k++ {
		term.Mul(term, y)
		term.Quo(term, new(big.Float).SetInt64(k))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// Renyi is the Renyi divergence of order a of outcomes whose probabilities are q, and
// q e^u in the other world. Of E[e^(au)] - 1 it sums E[expm1(au) - a expm1(u)], of which
// no term is negative, so that it has digits however near the two worlds are.
func Renyi(a float64, q, u []float64) float64 {
	terms := make([]float64, 0, 2)
	for i, v := range u {
		if q[i] > 0 && v != 0 {
			terms = append(terms, math.Log(q[i])+lnConvex(a, v))
		}
	}
	if len(terms) == 0 {
		return 0
	}
	const slack = 3e-13 // of the logarithms
	return softplus(LogSumExp(terms...)) * (1 + slack) / (a - 1)
}

// lnConvex is ln(expm1(a u) - a expm1(u)) for a > 1 and u other than 0.
func lnConvex(a, u float64) float64 {
	switch h := a - 1; {
	case math.Abs(a*u) < .02:
		return math.Log(smallConvex(a, u))
	case a*u > 30:
		return a*u + math.Log1p(h*math.Exp(-a*u)-a*math.Exp(-h*u))
	default: // e^(au) - 1 - a (e^u - 1), without the terms that cancel for a near 1
		return math.Log(math.Exp(u)*math.Expm1(h*u) - h*math.Expm1(u))
	}
}

// LogSumExp is ln sum_i e^(x_i), -Inf of none.
func LogSumExp(xs ...float64) float64 {
	m := math.Inf(-1)
	for _, x := range xs {
		m = math.Max(m, x)
	}
	if math.IsInf(m, 0) {
		return m
	}
	var sum float64
	for _, x := range xs {
		sum += math.Exp(x - m)
	}
	return m + math.Log(sum)
}
