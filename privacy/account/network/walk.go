package network

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"sotto/config"
)

// WalkPrintedObserver is c of the published pairwise Renyi divergence f(u,v) = a c(u,v)
// at order a > 1 of private SGD by a random walk over steps T >= 1 with hops drawn from
// the rows of a symmetric W (Cyffers, Bellet, Upadhyay 2024, arXiv 2402.07471), of every
// agent u against observer v whom nobody tells who sent the token, with noise s of each
// update in units of its sensitivity:
//
//	f(u,v) = a T ln T/(s^2 n^2) + (a T/(s^2 n)) [-ln(I - W + 11'/n)]_{uv},
//
// by a power series of the logarithm, which graphs of thousands of agents allow. ok is
// false where W mixes too slowly for it. It is claimed, for comparison only.
func WalkPrintedObserver(m *Matrix, agents, v int, noise float64, steps int) (c []float64, ok bool,
	err error) {
	switch {
	case !(noise > 0):
		return nil, false, config.Bad("noise_multiplier", noise, "numbers above 0")
	case steps < 1:
		return nil, false, config.Bad("steps", steps, "at least 1")
	case v < 0 || v >= agents || m.largest() >= agents:
		return nil, false, config.Bad("agents", agents, fmt.Sprintf("at least %d", max(v, m.largest())+1))
	}
	o := (&Gossip{Agents: agents}).operator(m)
	n, t := float64(agents), float64(steps)
	x := make([]float64, agents)
	x[v] = 1
	for i := range x {
		x[i] -= 1 / n
	}
	c = make([]float64, agents) // -ln(I - W + 11'/n) = sum over k >= 1 of (W^k - 11'/n)/k
	for k := 1; k <= maxTerms; k++ {
		x = o.apply(x)
		floats.AddScaled(c, 1/float64(k), x)
		if floats.Norm(x, math.Inf(1)) < 1e-15 {
			for u := range c {
				c[u] = (t*math.Log(t)/n + t*c[u]) / (noise * noise * n)
			}
			return c, true, nil
		}
		if drift := floats.Sum(x) / n; drift != 0 { // rounding along 1, which W keeps
			floats.AddConst(-drift, x)
		}
	}
	return nil, false, nil
}

// maxTerms bounds the power series.
const maxTerms = 20_000

// PrintedEpsilon is epsilon at delta by RDP(a) = a c, the conversion that goes with
// printed formulas: c + 2 sqrt(c ln(1/delta)).
func PrintedEpsilon(c, delta float64) float64 { return c + 2*math.Sqrt(c*math.Log(1/delta)) }
