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
		hi, lo := 1-b.p+b.p/float64(b.k), b.p/float64(b.k)
		switch {
		case !responds(r):
			return math.Inf(1)
		case r.adjacency == ReplaceOne:
			return math.Log(hi / lo)
		}
		return math.Max(math.Log(hi*float64(b.k)), -math.Log(lo*float64(b.k)))
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

// responseReplace is randomized response over k values under replace-one: the truth has
// probability hi, each other value lo.
func responseReplace(p float64, k int) curve {
	hi, lo := 1-p+p/float64(k), p/float64(k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1)
		}
		l := math.Log(hi / lo)
		// lo (k-2) + hi^a lo^(1-a) + lo^a hi^(1-a), by the largest term
		return logSumExp(math.Log(hi)+(a-1)*l, math.Log(lo)-(a-1)*l, math.Log(float64(k-2)*lo)) / (a - 1)
	}
}

// responseZero is the same when the null record answers uniformly.
func responseZero(p float64, k int) curve {
	hi, lo, n := 1-p+p/float64(k), p/float64(k), float64(k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1) // the null record's answer may be one that the record never gives
		}
		// One order serves both directions: the larger of D(P||U) and D(U||P).
		pu := math.Log(n) + logSumExp(a*math.Log(hi), math.Log(n-1)+a*math.Log(lo))/(a-1)
		up := -math.Log(n)*a/(a-1) + logSumExp((1-a)*math.Log(hi), math.Log(n-1)+(1-a)*math.Log(lo))/(a-1)
		return math.Max(pu, up)
	}
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
