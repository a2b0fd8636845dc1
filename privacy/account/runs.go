package account

import (
	"fmt"
	"math"

	"sotto/config"
)

// SelectionRuns is the number of runs of a [RepeatSelect] event at the uniform number u
// in [0, 1), for a mean of at most 1e6: the inverse of the distribution function of the
// truncated negative binomial law with that mean and parameter eta (Papernot, Steinke
// 2022, Definition 1),
//
//	P(K = k+1) / P(K = k) = (1-g) (k+eta) / (k+1),
//	P(K = 1) = eta (1-g) / (g^-eta - 1), or (1-g)/ln(1/g) at eta = 0.
func SelectionRuns(mean, eta, u float64) (int, error) {
	if _, err := RepeatSelect(mean, eta, NoOp()); err != nil {
		return 0, err
	}
	if err := checkUniform(u); err != nil {
		return 0, err
	}
	if mean > mostSelected {
		return 0, config.Bad("mean", mean, fmt.Sprintf("at most %g", float64(mostSelected)))
	}
	g := negativeBinomialParameter(mean, eta)
	p := (1 - g) / -math.Log(g)
	if eta > 0 {
		p = eta * (1 - g) / math.Expm1(-eta*math.Log(g))
	}
	if !(p > 0) {
		return 0, config.Bad("eta", eta, "one at which a single run of this mean has a probability "+
			"above 1e-308")
	}
	return invert(1, p, u, func(k float64) float64 { return (1 - g) * (k + eta) / (k + 1) }), nil
}

// SelectionRunsPoisson is [SelectionRuns] for a [RepeatSelectPoisson] event, whose number
// of runs may be 0, and whose mean is here at most 700.
func SelectionRunsPoisson(mean, u float64) (int, error) {
	if _, err := RepeatSelectPoisson(mean, NoOp()); err != nil {
		return 0, err
	}
	if mean > 700 {
		return 0, config.Bad("mean", mean, "at most 700")
	}
	if err := checkUniform(u); err != nil {
		return 0, err
	}
	return invert(0, math.Exp(-mean), u, func(k float64) float64 { return mean / (k + 1) }), nil
}

// mostSelected is the largest mean whose law is summed up, term by term.
const mostSelected = 1e6

func checkUniform(u float64) error { return bad(u >= 0 && u < 1, "u", u, "0 to below 1") }

// invert returns the least k with P(K <= k) > u; p is the probability of the first k and
// ratio leads from one to the next. It stops where terms no longer change the sum.
func invert(k int, p, u float64, ratio func(k float64) float64) int {
	sum, rose := p, p
	for sum <= u {
		next := p * ratio(float64(k))
		if next < p && next < 1e-18*rose {
			return k
		}
		k++
		p = next
		rose = math.Max(rose, p)
		sum += p
	}
	return k
}
