package account

import (
	"math"
	"sort"
)

// tails are the probabilities that the privacy loss L = ln(P/Q) lies above or not above
// t, under P and under Q. A point that Q cannot reach has L = +Inf, one that P cannot
// reach -Inf.
type tails struct{ pUp, qUp, pLo, qLo float64 }

// pair is a dominating pair (P, Q) of one event, P with the unit and Q without it
// (replace-one: with another one in its place), given by its tails: delta(eps) = pUp -
// e^eps qUp. The direction (Q, P) is read off the same tails.
type pair struct {
	// scan returns a function that gives the tails; it may remember the last t, for
	// ascending calls, and must not be shared.
	scan      func() func(t float64) tails
	symmetric bool // (Q, P) has the same losses
	tight     bool // some neighbouring data sets attain it, so that a lower bound follows
}

func stateless(at func(t float64) tails) func() func(float64) tails {
	return func() func(float64) tails { return at }
}

// gaussianPair is N(mu, 1) against N(0, 1).
func gaussianPair(mu float64) pair {
	return pair{stateless(func(t float64) tails {
		x := t/mu + mu/2
		return tails{upperTail(x - mu), upperTail(x), upperTail(mu - x), upperTail(-x)}
	}), true, true}
}

// laplacePair has loss e with probability 1/2, -e with probability exp(-e)/2 and density
// exp((l-e)/2)/4 between.
func laplacePair(e float64) pair {
	return pair{stateless(func(t float64) tails {
		switch {
		case t >= e:
			return tails{0, 0, 1, 1}
		case t < -e:
			return tails{1, 1, 0, 0}
		}
		p, q := math.Exp((t-e)/2)/2, math.Exp(-(e+t)/2)/2
		return tails{1 - p, q, p, 1 - q}
	}), true, true}
}

// atom is one value of a discrete loss with its probabilities.
type atom struct{ loss, p, q float64 }

// atomPair is a discrete pair; pInf is the P-probability of loss +Inf, qInf the
// Q-probability of -Inf.
func atomPair(atoms []atom, pInf, qInf float64, symmetric bool) pair {
	sort.Slice(atoms, func(i, j int) bool { return atoms[i].loss < atoms[j].loss })
	n := len(atoms)
	cum := make([]tails, n+1) // cum[i]: the atoms from i on are above
	cum[n].pUp, cum[0].qLo = pInf, qInf
	for i := n - 1; i >= 0; i-- {
		cum[i].pUp, cum[i].qUp = cum[i+1].pUp+atoms[i].p, cum[i+1].qUp+atoms[i].q
	}
	for i, a := range atoms {
		cum[i+1].pLo, cum[i+1].qLo = cum[i].pLo+a.p, cum[i].qLo+a.q
	}
	return pair{stateless(func(t float64) tails {
		return cum[sort.Search(n, func(i int) bool { return atoms[i].loss > t })]
	}), symmetric, true}
}

// epsDeltaPair is the worst pair of all (e, d)-DP mechanisms (Kairouz, Oh, Viswanath
// 2015).
func epsDeltaPair(e, d float64) pair {
	hi := 1 / (1 + math.Exp(-e))
	lo := 1 / (1 + math.Exp(e))
	p := atomPair([]atom{{e, (1 - d) * hi, (1 - d) * lo}, {-e, (1 - d) * lo, (1 - d) * hi}}, d, d, true)
	p.tight = false
	return p
}

// responsePair is randomized response over k values under replace-one, or against the
// uniform answer.
func responsePair(prob float64, k int, zeroOut bool) pair {
	n := float64(k)
	hi, lo := 1-prob+prob/n, prob/n
	if zeroOut {
		if lo == 0 {
			return atomPair([]atom{{math.Log(n), 1, 1 / n}}, 0, 1-1/n, false)
		}
		return atomPair([]atom{{math.Log(hi * n), hi, 1 / n}, {math.Log(lo * n), (n - 1) * lo, (n - 1) / n}},
			0, 0, false)
	}
	if lo == 0 {
		return atomPair(nil, 1, 1, true)
	}
	l := math.Log(hi / lo)
	return atomPair([]atom{{l, hi, lo}, {0, (n - 2) * lo, (n - 2) * lo}, {-l, lo, hi}}, 0, 0, true)
}

// discreteLaplacePair is integer Laplace noise of parameter a at integer distance d: loss
// a(d-2x) for outcomes 0 <= x <= d, and +-ad beyond.
func discreteLaplacePair(a, d float64) pair {
	r := math.Exp(-a)
	return pair{stateless(func(t float64) tails {
		switch {
		case t >= a*d:
			return tails{0, 0, 1, 1}
		case t < -a*d:
			return tails{1, 1, 0, 0}
		}
		x := math.Min(d-1, math.Max(0, math.Ceil((d-t/a)/2)-1)) // the loss is above t up to here
		p, q := math.Exp(-a*(x+1))/(1+r), math.Exp(-a*(d-x))/(1+r)
		return tails{1 - p, q, p, 1 - q}
	}), true, true}
}

// discreteGaussianPair is integer Gaussian noise of parameter s at integer distance d, on
// |x| <= 40 s + d.
func discreteGaussianPair(s, d float64) pair {
	reach := int(math.Ceil(40*s + d))
	var z float64
	for x := reach; x > 0; x-- {
		z += 2 * math.Exp(-float64(x)*float64(x)/(2*s*s))
	}
	z++
	atoms := make([]atom, 0, 2*reach+int(d)+1)
	for x := -reach; x <= reach+int(d); x++ {
		f := float64(x)
		p, q := math.Exp(-(f-d)*(f-d)/(2*s*s))/z, math.Exp(-f*f/(2*s*s))/z
		if p > 0 || q > 0 {
			atoms = append(atoms, atom{(2*f*d - d*d) / (2 * s * s), p, q})
		}
	}
	return atomPair(atoms, 0, 0, true)
}

// poissonPair is (1-q)Q + qP against Q, exact for add-remove sampling of any mechanism
// with dominating pair (P, Q) (Zhu, Dong, Wang 2022, Theorem 11): L' = ln(1-q+q e^L).
func poissonPair(q float64, in pair) pair {
	low, lnQ := math.Log1p(-q), math.Log(q)
	return pair{func() func(float64) tails {
		at := in.scan()
		return func(t float64) tails {
			if t <= low {
				return tails{1, 1, 0, 0}
			}
			u := t - lnQ
			if t < 40 {
				u = math.Log1p(math.Expm1(t) / q)
			}
			if math.IsNaN(u) || math.IsInf(u, -1) { // t is low up to round-off
				return tails{1, 1, 0, 0}
			}
			v := at(u)
			return tails{(1-q)*v.qUp + q*v.pUp, v.qUp, (1-q)*v.qLo + q*v.pLo, v.qLo}
		}
	}, false, in.tight}
}

// antipodalPair is (1-q)N(0) + qN(m) against (1-q)N(0) + qN(-m), unit variance: Poisson
// sampling of a Gaussian of sensitivity 2m under replace-one. It dominates all pairs of
// contributions of norm at most m: with the other records fixed, H_a is E f(U,V), f
// convex of a linear form in which the log-normal U and V of the two records have
// opposite signs, so that by Gaussian interpolation it grows with both variances and
// falls with the covariance; the extreme is the antipodal pair. It is not the add-remove
// curve at half the noise.
func antipodalPair(q, m float64) pair {
	lnC := math.Log(q) - m*m/2
	at := func(t float64) tails {
		// With u = e^{m x}: c u^2 + (1-q)(1-e^t) u - c e^t = 0, solved for t >= 0; x(-t)
		// = -x(t).
		a := math.Abs(t)
		v := (1 - q) * -math.Expm1(-a)
		lnU := a - math.Ln2 - lnC + math.Log(v+math.Hypot(v, 2*math.Exp(lnC-a/2)))
		x := math.Copysign(lnU/m, t)
		up, lo := upperTail(x), upperTail(-x)
		near, far := upperTail(x-m), upperTail(x+m)
		return tails{(1-q)*up + q*near, (1-q)*up + q*far, (1-q)*lo + q*upperTail(m-x),
			(1-q)*lo + q*upperTail(-m-x)}
	}
	return pair{stateless(at), true, true}
}

// blendPair is a public coin between two pairs: its profile is the weighted sum of
// theirs.
func blendPair(w float64, a, b pair) pair {
	return pair{func() func(float64) tails {
		x, y := a.scan(), b.scan()
		return func(t float64) tails {
			u, v := x(t), y(t)
			return tails{(1-w)*u.pUp + w*v.pUp, (1-w)*u.qUp + w*v.qUp, (1-w)*u.pLo + w*v.pLo,
				(1-w)*u.qLo + w*v.qLo}
		}
	}, a.symmetric && b.symmetric, a.tight && b.tight}
}

// mixturePair is sum_j w_j N(c_j) against N(0) with unit variance (remove), or against
// sum_j w_j N(-c_j) when antipodal, where c ascends from at least 0. The loss grows with
// x and is inverted by safeguarded Newton steps.
func mixturePair(w, c []float64, antipodal bool) pair {
	lnW := make([]float64, len(w))
	for j := range w {
		lnW[j] = math.Log(w[j])
	}
	loss := func(x float64) (l, slope float64) {
		l, slope = lnMixture(lnW, c, x)
		if antipodal {
			m, s := lnMixture(lnW, c, -x)
			l, slope = l-m, slope+s
		}
		return l, slope
	}
	floor := math.Inf(-1) // the loss stays above ln w_0 when a record may miss altogether
	if c[0] == 0 && !antipodal {
		floor = lnW[0]
	}
	scan := func() func(float64) tails {
		x := 0.0
		return func(t float64) tails {
			if t <= floor {
				return tails{1, 1, 0, 0}
			}
			x = invertLoss(loss, t, x)
			v := tails{qUp: upperTail(x), qLo: upperTail(-x)}
			if antipodal {
				v.qUp, v.qLo = 0, 0
			}
			for j := range w {
				v.pUp += w[j] * upperTail(x-c[j])
				v.pLo += w[j] * upperTail(c[j]-x)
				if antipodal {
					v.qUp += w[j] * upperTail(x+c[j])
					v.qLo += w[j] * upperTail(-c[j]-x)
				}
			}
			return v
		}
	}
	return pair{scan, antipodal, true}
}

// lnMixture is ln sum_j w_j exp(c_j x - c_j^2/2) and its derivative.
func lnMixture(lnW, c []float64, x float64) (l, slope float64) {
	top := math.Inf(-1)
	for j := range c {
		top = math.Max(top, lnW[j]+c[j]*x-c[j]*c[j]/2)
	}
	var s0, s1 float64
	for j := range c {
		e := math.Exp(lnW[j] + c[j]*x - c[j]*c[j]/2 - top)
		s0 += e
		s1 += e * c[j]
	}
	return top + math.Log(s0), s1 / s0
}

// invertLoss solves loss(x) = t for increasing loss, starting near x; it stops at +-1e3,
// where every tail is 0 or 1.
func invertLoss(loss func(float64) (float64, float64), t, x float64) float64 {
	lo, hi := -1e3, 1e3
	x = math.Min(hi, math.Max(lo, x))
	for range 200 {
		l, s := loss(x)
		if l > t {
			hi = x
		} else {
			lo = x
		}
		next := x - (l-t)/s
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-15*(1+math.Abs(x)) || hi-lo <= 1e-15*(1+math.Abs(x)) {
			return next
		}
		x = next
	}
	return x
}
