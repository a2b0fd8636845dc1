package network

import (
	"cmp"
	"slices"

	"sotto/internal/parallel"
)

// Worst returns the number of the pair of {u, v} with the largest epsilon at delta of u's
// contributions against v, see Pairs, and that epsilon. All pairs count, and few are
// composed: where v sees a contribution of u sooner than v' sees one of u', at every time
// with at least the probability, what v' has follows from what v has, by shortening the
// token's way and adding noise, so that its epsilon is no larger.
func (w *WalkMixture) Worst(pairs [][2]int, delta float64) (worst int, epsilon float64, err error) {
	all := make([]sooner, len(pairs))
	err = parallel.For(len(pairs), 0, func(k int) error {
		if err := w.check(pairs[k][0], pairs[k][1]); err != nil {
			return err
		}
		all[k] = newSooner(k, w, pairs[k])
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	slices.SortStableFunc(all, func(a, b sooner) int { return cmp.Compare(b.sum, a.sum) })
	var front []*sooner
	for k := range all {
		if !slices.ContainsFunc(front, func(f *sooner) bool { return all[k].within(f) }) {
			front = append(front, &all[k])
		}
	}
	upper := make([]float64, len(front))
	err = parallel.For(len(front), 0, func(k int) error {
		i, err := w.compose(front[k].weights, front[k].mus, delta)
		upper[k] = i.Upper
		return err
	})
	for k, f := range front {
		if k == 0 || upper[k] > epsilon || upper[k] == epsilon && f.pair < worst {
			worst, epsilon = f.pair, upper[k]
		}
	}
	return worst, epsilon, err
}

// sooner is the mixture of a pair, with what has been seen by each of its times.
type sooner struct {
	pair         int
	weights, mus []float64
	seen         []float64 // probabilities, rising
	sum          float64   // of them, over all times that a walk has
}

func newSooner(k int, w *WalkMixture, pair [2]int) sooner {
	s := sooner{pair: k}
	s.weights, s.mus = w.mixture(pair[0], pair[1])
	total := 0.
	for _, p := range s.weights {
		total += p
		s.seen = append(s.seen, total)
	}
	// losses fall, and times are the same ones for all pairs: what comes after the last
	// has been seen by then
	for t := range s.mus {
		next := 0.
		if t+1 < len(s.mus) {
			next = s.mus[t+1]
		}
		s.sum += s.seen[t] * (s.mus[t] - next)
	}
	return s
}

// within says that f has seen at least as much at every time.
func (s *sooner) within(f *sooner) bool {
	n := min(len(s.mus), len(f.mus))
	if !slices.Equal(s.mus[:n], f.mus[:n]) {
		return false
	}
	for t := range max(len(s.seen), len(f.seen)) {
		if s.seen[min(t, len(s.seen)-1)] > f.seen[min(t, len(f.seen)-1)] {
			return false
		}
	}
	return true
}
