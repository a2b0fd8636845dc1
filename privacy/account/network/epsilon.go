package network

import (
	"math"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
)

// Provenance of figures.
const (
	Proved  = "proved"
	Claimed = "claimed" // published, not a bound here: for comparison only
)

// Citations of the exact view.
var Citations = []string{"Balle, Wang 2018, arXiv 1805.06530"}

// Method of the exact view, for statements.
const ViewMethod = "exact linear-Gaussian view by leverage scores, converted exactly"

// Assumptions of the exact view, for statements.
var Assumptions = []string{"every value is released once, with fresh Gaussian noise, and then only averaged",
	"mixing matrices and the links that lose messages do not depend on the values",
	"members of the adversary follow the protocol"}

// NotCovered by the exact view, for statements.
var NotCovered = []string{
	"training over many rounds, where others react to an agent's update: there the figure against " +
		"everyone holds",
	"who sends messages when"}

// MeanLabel goes with every mean over agents.
const MeanLabel = "mean: not a guarantee for any single agent"

// Epsilon returns epsilon at delta in [0, 1] of agent u's value against the view, from
// mu, its sensitivity over its noise: the exact Gaussian formula at mu sqrt(leak). The
// ends allow for rounding in the leak. For a member of the adversary it is infinite.
func (v *View) Epsilon(u int, mu, delta float64) account.Interval {
	leak := v.Leak[u]
	switch {
	case v.Adversary.has(u):
		return account.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}
	case leak == 0:
		return account.Interval{}
	}
	at := func(leak float64) float64 { return gdp.Epsilon(mu*math.Sqrt(leak), delta) }
	margin := v.margin
	if leak == 1 {
		margin = 0
	}
	return account.Interval{Lower: at(math.Max(0, leak-margin)) * (1 - 1e-12),
		Upper: at(math.Min(1, leak+margin)) * (1 + 1e-12)}
}

// Mean returns the mean leak over the agents that do not belong to the adversary: rank
// over their number. It is no guarantee: see MeanLabel.
func (v *View) Mean() float64 {
	sum, others := 0., 0
	for u, l := range v.Leak {
		if !v.Adversary.has(u) {
			sum += l
			others++
		}
	}
	return sum / float64(max(1, others))
}

// Worst returns the agent with the largest leak, the first of several, -1 if all belong
// to the adversary.
func (v *View) Worst() int {
	worst := -1
	for u, l := range v.Leak {
		if !v.Adversary.has(u) && (worst < 0 || l > v.Leak[worst]) {
			worst = u
		}
	}
	return worst
}
