package account

import "math"

var treeKind = kind{
	typ:    TypeTree,
	traits: single,
	fields: func(b *body) []field {
		return []field{{"noise_multiplier", &b.noise, nonNegative}, {"steps", &b.steps, integers(1)},
			{"restarts", &b.restarts, integers(0)}}
	},
	mu: func(b *body) (float64, bool) {
		return math.Sqrt(float64(treeHeight(b.steps))*float64(b.restarts+1)) / b.noise, true
	},
	rdp:  gaussianRDP,
	pure: gaussianPure,
}

// Tree is binary tree aggregation over steps values with normal noise on each node and
// one participation in each of restarts+1 trees; noiseMultiplier is relative to the
// sensitivity, finite and at least 0, steps at least 1, restarts at least 0.
func Tree(noiseMultiplier float64, steps, restarts int) (Event, error) {
	return newEvent(&body{kind: &treeKind, noise: noiseMultiplier, steps: steps, restarts: restarts})
}

// treeHeight is ceil(log2(steps+1)), the number of nodes of a binary tree that one value
// enters.
func treeHeight(steps int) int {
	m := 0
	for s := steps; s > 0; s >>= 1 {
		m++
	}
	return m
}
