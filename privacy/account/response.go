package account

import "math"

var responseKind = kind{
	typ:    TypeRandomizedResponse,
	fields: func(b *body) []field { return []field{{"p", &b.p, probability}, {"k", &b.k, integers(2)}} },
	pair: func(b *body, r relation) (pair, error) {
		if !responds(r) {
			return noPair, errNoProof
		}
		return responsePair(b.p, b.k, r.adjacency == ZeroOut), nil
	},
	rdp: func(b *body, r relation) (curve, error) {
		switch {
		case !responds(r):
			return nil, errNoProof
		case r.adjacency == ReplaceOne:
			return responseReplace(b.p, b.k), nil
		}
		return responseZero(b.p, b.k), nil
	},
	pure: func(b *body, r relation) float64 {
		_, lo, l := response(b.p, b.k)
		switch {
		case !responds(r) || lo == 0:
			return math.Inf(1)
		case r.adjacency == ReplaceOne:
			return l
		}
		return math.Max(math.Log1p(float64(b.k-1)*(1-b.p)), -math.Log(b.p))
	},
	box: func(b *body, r relation) (eps, delta float64, ok bool) {
		return b.kind.pure(b, r), 0, responds(r)
	},
}

// responds: who answers in either world, and each for itself.
func responds(r relation) bool { return r.alone() && r.adjacency != AddRemove }

// RandomizedResponse answers uniformly over k values with probability p and truthfully
// otherwise.
func RandomizedResponse(p float64, k int) (Event, error) {
	return newEvent(&body{kind: &responseKind, p: p, k: k})
}

// response has the probabilities of answers: of the true value, and of each other one; and
// the logarithm of their ratio.
func response(p float64, k int) (hi, lo, l float64) {
	lo = p / float64(k)
	return 1 - p + lo, lo, math.Log1p((1 - p) / lo)
}

// responseReplace is randomized response over k values under replace-one.
func responseReplace(p float64, k int) curve {
	hi, lo, l := response(p, k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1)
		}
		return divergence(a, []float64{lo, hi}, []float64{l, -l})
	}
}

// responseZero is the same when the null record answers uniformly.
func responseZero(p float64, k int) curve {
	hi, lo, _ := response(p, k)
	n := float64(k)
	high, low := math.Log1p((n-1)*(1-p)), math.Log(p) // of hi n and of lo n
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1) // the null record's answer may be one that the record never gives
		}
		// One order serves both directions: the larger of D(P||U) and D(U||P).
		return math.Max(divergence(a, []float64{1 / n, 1 - 1/n}, []float64{high, low}),
			divergence(a, []float64{hi, (n - 1) * lo}, []float64{-high, -low}))
	}
}

// divergence is the Renyi divergence of order a of outcomes whose probabilities are q, and
// q e^u in the other world. Of E[e^(au)] - 1 it sums E[expm1(au) - a expm1(u)], of which
// no term is negative, so that it has digits however near the two worlds are.
func divergence(a float64, q, u []float64) float64 {
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
	return softplus(logSumExp(terms...)) * (1 + slack) / (a - 1)
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

// responsePair is randomized response over k values under replace-one, or against the
// uniform answer.
func responsePair(prob float64, k int, zeroOut bool) pair {
	n := float64(k)
	hi, lo, l := response(prob, k)
	if zeroOut {
		if lo == 0 {
			return atomPair([]atom{{math.Log(n), 1, 1 / n}}, 0, 1-1/n, false)
		}
		return atomPair([]atom{{math.Log1p((n - 1) * (1 - prob)), hi, 1 / n}, {math.Log(prob), (n - 1) * lo, (n - 1) / n}},
			0, 0, false)
	}
	if lo == 0 {
		return atomPair(nil, 1, 1, true)
	}
	return atomPair([]atom{{l, hi, lo}, {0, (n - 2) * lo, (n - 2) * lo}, {-l, lo, hi}}, 0, 0, true)
}
