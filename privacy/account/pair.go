package account

import "sort"

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

// noisy reports a pair that is there; see noPair.
func (p pair) noisy() bool { return p.scan != nil }

func stateless(at func(t float64) tails) func() func(float64) tails {
	return func() func(float64) tails { return at }
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
