package loss

import (
	"math"

	"sotto/tensor"
)

// Source gives the tails of one event.
type Source struct {
	Scan func() Scan
	fill func() fill // nil: by Scan
}

// fill writes the tails at up to block ascending losses t to out. It has scratch memory.
type fill func(out []Tails, t []float64)

const block = 256

type column [block]float64

// filler is a fill of any source.
func (s Source) filler() fill {
	if s.fill != nil {
		return s.fill()
	}
	at := s.Scan()
	return func(out []Tails, t []float64) {
		for i, v := range t {
			out[i] = at(v)
		}
	}
}

// Tails where the privacy loss L = ln(P/Q) is certainly above t, or not above. A point
// that Q cannot reach has L = +Inf, one that P cannot reach -Inf.
var (
	AllAbove = Tails{PUp: 1, QUp: 1}
	AllBelow = Tails{PLo: 1, QLo: 1}
)

// Shifted is N(mu, 1) against N(0, 1).
func Shifted(mu float64) Source {
	at := func(t float64) (v Tails) {
		x := t/mu + mu/2
		v.PUp, v.PLo = tensor.NormalTail(x - mu)
		v.QUp, v.QLo = tensor.NormalTail(x)
		return v
	}
	return Source{func() Scan { return at }, func() fill {
		var x, pUp, pLo, qUp, qLo column
		return func(out []Tails, t []float64) {
			n := len(t)
			for i, v := range t {
				x[i] = v/mu + mu/2
			}
			tensor.NormalTails(qUp[:n], qLo[:n], x[:n])
			for i := range n {
				x[i] -= mu
			}
			tensor.NormalTails(pUp[:n], pLo[:n], x[:n])
			for i := range n {
				out[i] = Tails{pUp[i], qUp[i], pLo[i], qLo[i]}
			}
		}
	}}
}

// Sampled is (1-q)Q + qP against Q, exact for add-remove sampling of any mechanism with
// dominating pair (P, Q) (Zhu, Dong, Wang 2022, Theorem 11): L' = ln(1-q+q e^L).
func Sampled(q float64, in Source) Source {
	low, lnQ := math.Log1p(-q), math.Log(q)
	const far = 40
	mix := func(v Tails) Tails {
		return Tails{(1-q)*v.QUp + q*v.PUp, v.QUp, (1-q)*v.QLo + q*v.PLo, v.QLo}
	}
	return Source{func() Scan {
		at := in.Scan()
		return func(t float64) Tails {
			if t <= low {
				return AllAbove
			}
			u := t - lnQ
			if t < far {
				u = math.Log1p(math.Expm1(t) / q)
			}
			if math.IsNaN(u) || math.IsInf(u, -1) { // t is low up to round-off
				return AllAbove
			}
			return mix(at(u))
		}
	}, func() fill {
		inner := in.filler()
		var u column
		return func(out []Tails, t []float64) {
			n := len(t)
			above := 0 // so many are low, or are up to round-off
			for i, v := range t {
				u[i] = math.Min(far, math.Max(low, v))
			}
			tensor.Expm1(u[:n], u[:n])
			for i, v := range t {
				u[i] /= q
				if v <= low || u[i] <= -1 {
					u[i], above = 0x1p-53-1, i+1
				}
			}
			tensor.Log1p(u[:n], u[:n])
			for i, v := range t {
				if v >= far {
					u[i] = v - lnQ
				}
			}
			inner(out, u[:n])
			for i := range n {
				if out[i] = mix(out[i]); i < above {
					out[i] = AllAbove
				}
			}
		}
	}}
}

// Subset bounds a mechanism whose batch is drawn without replacement, where one record is
// replaced in the data set. q is the share of the records in a batch, in (0, 1]; the pair
// (P, Q) of in dominates the mechanism, in both directions, for batches that differ in
// one record. Then H_a <= q H_b with b = 1+(a-1)/q for a >= 1 (Balle, Barthe, Gaboardi
// 2018, Theorem 9: a batch with the record and one without it also differ in one record).
// That is the profile of (1-q)Q + qP against Q. The relation is symmetric, so that the
// pair is this one at losses above 0, its mirror image below, and has the rest of its
// mass at 0. Where in is Gaussian one release attains the bound: all other records are
// -C, the replaced one is C or -C.
func Subset(q float64, in Source) Source {
	above := Sampled(q, in)
	lnQ := math.Log(q)
	const far = 40
	// of the mechanism's loss L: -ln(1-q+q e^-L) > t
	below := func(t float64) float64 {
		if t < -far {
			return t + lnQ
		}
		return -math.Log1p(math.Expm1(-t) / q)
	}
	mix := func(v Tails) Tails {
		return Tails{v.PUp, (1-q)*v.PUp + q*v.QUp, v.PLo, (1-q)*v.PLo + q*v.QLo}
	}
	return Source{func() Scan {
		low, high := in.Scan(), above.Scan()
		return func(t float64) Tails {
			if t < 0 {
				return mix(low(below(t)))
			}
			return high(t)
		}
	}, func() fill {
		low, high := in.filler(), above.filler()
		var u column
		return func(out []Tails, t []float64) {
			n := 0
			for ; n < len(t) && t[n] < 0; n++ {
				u[n] = below(t[n])
			}
			low(out[:n], u[:n])
			for i := range n {
				out[i] = mix(out[i])
			}
			high(out[n:], t[n:])
		}
	}}
}

// Antipodal is (1-q)N(0) + qN(m) against (1-q)N(0) + qN(-m), unit variance.
func Antipodal(q, m float64) Source {
	lnC := math.Log(q) - m*m/2
	// With u = e^{m x}: c u^2 + (1-q)(1-e^t) u - c e^t = 0, solved for t >= 0; x(-t) =
	// -x(t).
	point := func(t float64) float64 {
		if t == 0 {
			return 0 // below the exponents of float64 the formula is the logarithm of 0
		}
		a := math.Abs(t)
		v := (1 - q) * -math.Expm1(-a)
		lnU := a - math.Ln2 - lnC + math.Log(v+math.Hypot(v, 2*math.Exp(lnC-a/2)))
		return math.Copysign(lnU/m, t)
	}
	at := func(t float64) Tails {
		x := point(t)
		up, lo := tensor.NormalTail(x)
		pUp, pLo := tensor.NormalTail(x - m)
		qUp, qLo := tensor.NormalTail(x + m)
		return Tails{(1-q)*up + q*pUp, (1-q)*up + q*qUp, (1-q)*lo + q*pLo, (1-q)*lo + q*qLo}
	}
	return Source{func() Scan { return at }, func() fill {
		var x, y, up, lo, pUp, pLo, qUp, qLo column
		return func(out []Tails, t []float64) {
			n := len(t)
			for i, v := range t {
				x[i] = point(v)
			}
			tensor.NormalTails(up[:n], lo[:n], x[:n])
			for i := range n {
				x[i], y[i] = x[i]-m, x[i]+m
			}
			tensor.NormalTails(pUp[:n], pLo[:n], x[:n])
			tensor.NormalTails(qUp[:n], qLo[:n], y[:n])
			for i := range n {
				out[i] = Tails{(1-q)*up[i] + q*pUp[i], (1-q)*up[i] + q*qUp[i],
					(1-q)*lo[i] + q*pLo[i], (1-q)*lo[i] + q*qLo[i]}
			}
		}
	}}
}
