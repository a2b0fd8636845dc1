package exposure

import (
	"math"

	"sotto/privacy/account/gdp"
)

// Release is what each agent of a run releases before values are averaged.
type Release struct {
	Noise float64 // multiplier
	// Mu is the GDP parameter against who sees the release; 0: it is not known, or the
	// run does more than average.
	Mu        float64
	Delta     float64 // 0: not known
	Adjacency string  // "": not known
	Notes     []string
}

// State sets Mu such that the release has this epsilon, against everyone, at its delta:
// figures by it are upper bounds of those of a release that has less.
func (r *Release) State(epsilon float64) {
	if r.Delta > 0 && r.Delta < 1 && epsilon > 0 && !math.IsInf(epsilon, 1) {
		r.Mu = gdp.Mu(epsilon, r.Delta) * (1 + 1e-13)
	}
}
