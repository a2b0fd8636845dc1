package account

import (
	"math"

	"sotto/privacy/account/loss"
)

// RevealedMixture returns epsilon at delta in [0, 1] of times >= 0 adaptive copies of a
// mechanism that draws j with probability weights[j], independently of the data,
// publishes it, and is then a Gaussian mechanism of parameter mus[j] > 0. What weights
// lack of 1 releases nothing. The profile of one copy is the weighted sum of Gaussian
// profiles; the lower end is 0, since parameters are often bounds themselves.
func RevealedMixture(weights, mus []float64, times int, delta float64) (Interval, error) {
	err := first(bad(len(weights) == len(mus), "weights", len(weights), "one for each mu"),
		bad(times >= 0, "times", times, "at least 0"), checkDelta(delta))
	sum := 0.0
	for j, w := range weights {
		sum += w
		if err == nil && j < len(mus) {
			err = first(bad(inUnit(w), "weights", w, "0 to 1"),
				bad(positive(mus[j]), "mu", mus[j], "a finite number > 0"))
		}
	}
	if err = first(err, bad(sum <= 1+1e-9, "weights", sum, "probabilities that sum to at most 1")); err !=
		nil || times == 0 || len(weights) == 0 {
		return Interval{}, err
	}
	w := workload{pairs: []pair{revealedPair(weights, mus, math.Max(0, 1-sum))}, counts: []int{times},
		pure: math.Inf(1)}
	i, err := w.epsilon(delta, false, bothWays)
	return Interval{Upper: i.Upper}, err
}

// revealedPair is a public choice between N(mu_j, 1) against N(0, 1); the rest has loss
// 0.
func revealedPair(weights, mus []float64, rest float64) pair {
	return pair{stateless(func(t float64) loss.Tails {
		v := loss.Tails{PLo: rest, QLo: rest}
		if t < 0 {
			v = loss.Tails{PUp: rest, QUp: rest}
		}
		for j, mu := range mus {
			w, x := weights[j], t/mu+mu/2
			v.PUp += w * upperTail(x-mu)
			v.QUp += w * upperTail(x)
			v.PLo += w * upperTail(mu-x)
			v.QLo += w * upperTail(-x)
		}
		return v
	}), true, false, nil}
}
