package account

import (
	"math"

	"sotto/privacy/account/loss"
)

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
		hi, lo, l := response(b.p, b.k)
		switch {
		case !responds(r) || lo == 0:
			return math.Inf(1)
		case r.adjacency == ReplaceOne:
			return l
		}
		return math.Max(lnOne(float64(b.k-1)*(1-b.p), hi*float64(b.k)), -math.Log(lo*float64(b.k)))
	},
	box: func(b *body, r relation) (eps, delta float64, ok bool) {
		return b.kind.pure(b, r), 0, responds(r)
	},
}

// responds: who answers in either world, and each for itself.
func responds(r relation) bool { return r.alone() && r.adjacency != AddRemove }

// RandomizedResponse answers uniformly over k >= 2 values with probability p in [0, 1]
// and truthfully otherwise.
func RandomizedResponse(p float64, k int) (Event, error) {
	return newEvent(&body{kind: &responseKind, p: p, k: k})
}

// response has the probabilities of answers: of the true value, and of each other one;
// and the logarithm of their ratio.
func response(p float64, k int) (hi, lo, l float64) {
	lo = p / float64(k)
	hi = 1 - p + lo
	return hi, lo, lnOne((1-p)/lo, hi/lo)
}

// lnOne is the logarithm of one = 1 + x, by x where that is small.
func lnOne(x, one float64) float64 {
	if x < .1 {
		return math.Log1p(x)
	}
	return math.Log(one)
}

// responseReplace is randomized response over k values under replace-one.
func responseReplace(p float64, k int) curve {
	hi, lo, l := response(p, k)
	return func(a float64) float64 {
		if lo == 0 {
			return math.Inf(1)
		}
		if x := loss.Renyi(a, []float64{lo, hi}, []float64{l, -l}); small(a, x) {
			return x
		}
		// lo (k-2) + hi^a lo^(1-a) + lo^a hi^(1-a), by the largest term
		return loss.LogSumExp(math.Log(hi)+(a-1)*l, math.Log(lo)-(a-1)*l, math.Log(float64(k-2)*lo)) / (a - 1)
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
		x := math.Max(loss.Renyi(a, []float64{1 / n, 1 - 1/n}, []float64{high, low}),
			loss.Renyi(a, []float64{hi, (n - 1) * lo}, []float64{-high, -low}))
		if small(a, x) {
			return x
		}
		pu := math.Log(n) + loss.LogSumExp(a*math.Log(hi), math.Log(n-1)+a*math.Log(lo))/(a-1)
		up := -math.Log(n)*a/(a-1) +
			loss.LogSumExp((1-a)*math.Log(hi), math.Log(n-1)+(1-a)*math.Log(lo))/(a-1)
		return math.Max(pu, up)
	}
}

// small reports that probabilities which sum to nearly 1 have too few digits for a
// divergence x of order a.
func small(a, x float64) bool { return (a-1)*x < 1e-3 }

// responsePair is randomized response over k values under replace-one, or against the
// uniform answer.
func responsePair(prob float64, k int, zeroOut bool) pair {
	n := float64(k)
	hi, lo, l := response(prob, k)
	if zeroOut {
		if lo == 0 {
			return atomPair([]atom{{math.Log(n), 1, 1 / n}}, 0, 1-1/n, false)
		}
		return atomPair([]atom{{lnOne((n-1)*(1-prob), hi*n), hi, 1 / n},
			{math.Log(lo * n), (n - 1) * lo, (n - 1) / n}}, 0, 0, false)
	}
	if lo == 0 {
		return atomPair(nil, 1, 1, true)
	}
	return atomPair([]atom{{l, hi, lo}, {0, (n - 2) * lo, (n - 2) * lo}, {-l, lo, hi}}, 0, 0, true)
}
