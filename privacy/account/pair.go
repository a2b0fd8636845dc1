package account

import (
	"sort"

	"sotto/privacy/account/loss"
)

// pair is a dominating pair (P, Q) of one event, P with the unit and Q without it
// (replace-one: with another one in its place), given by its tails: delta(eps) = PUp -
// e^eps QUp. The direction (Q, P) is read off the same tails.
type pair struct {
	loss.Source
	symmetric bool  // (Q, P) has the same losses
	tight     bool  // some neighbouring data sets attain it, so that a lower bound follows
	under     *pair // where it is not tight: a pair that some data sets attain; nil: none is known
}

// noisy reports a pair that is there; see noPair.
func (p pair) noisy() bool { return p.Scan != nil }

func stateless(at loss.Scan) loss.Source {
	return loss.Source{Scan: func() loss.Scan { return at }}
}

// atom is one value of a discrete loss with its probabilities.
type atom struct{ loss, p, q float64 }

// atomPair is a discrete pair; pInf is the P-probability of loss +Inf, qInf the
// Q-probability of -Inf.
func atomPair(atoms []atom, pInf, qInf float64, symmetric bool) pair {
	sort.Slice(atoms, func(i, j int) bool { return atoms[i].loss < atoms[j].loss })
	n := len(atoms)
	cum := make([]loss.Tails, n+1) // cum[i]: the atoms from i on are above
	cum[n].PUp, cum[0].QLo = pInf, qInf
	for i := n - 1; i >= 0; i-- {
		cum[i].PUp, cum[i].QUp = cum[i+1].PUp+atoms[i].p, cum[i+1].QUp+atoms[i].q
	}
	for i, a := range atoms {
		cum[i+1].PLo, cum[i+1].QLo = cum[i].PLo+a.p, cum[i].QLo+a.q
	}
	return pair{stateless(func(t float64) loss.Tails {
		return cum[sort.Search(n, func(i int) bool { return atoms[i].loss > t })]
	}), symmetric, true, nil}
}
