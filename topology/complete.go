package topology

import (
	"math"

	"sotto/agent"
)

// fewestImplicit is from how many agents on a complete graph with one weight for all
// pairs is kept as that weight, without rows: 10,000 agents would have 1.6 GB of them.
const fewestImplicit = 65

// complement finds out whether every agent hears every other with one weight, and drops
// the rows of such a graph where they are many.
func complement(g *Graph) {
	n := g.Agents()
	if n < 2 || len(g.in) != n*(n-1) {
		return
	}
	for _, nb := range g.in {
		if nb.Weight != g.in[0].Weight {
			return
		}
	}
	if g.every = g.in[0].Weight; n >= fewestImplicit {
		g.start, g.in = nil, nil
	}
}

// implicit reports whether g has no rows but one weight for all of them.
func implicit(g *Graph) bool { return g.in == nil && g.every != 0 }

// completeGraph is the complete graph of at least fewestImplicit agents with one weight
// for all pairs.
func completeGraph(name string, self []float64, every float64) *Graph {
	return &Graph{name: name, self: self, every: every, marks: marks{symmetric: true}}
}

// rest returns the weight that an agent of a complete graph has left for itself where
// each of the others has w. Where that is w but for rounding, as with Metropolis weights,
// it is w: all agents then average in the same way, bit for bit.
func rest(agents int, w float64) float64 {
	s := 1 - float64(agents-1)*w
	if math.Abs(s-w) <= 1e-15 {
		return w
	}
	if s < 0 && s > -rowTolerance {
		return 0
	}
	return s
}

// Even reports whether every agent hears all others and all entries of W are one number:
// a round of averaging then gives all agents the same vector.
func (g *Graph) Even() bool {
	if g.every == 0 {
		return false
	}
	for _, s := range g.self {
		if s != g.every {
			return false
		}
	}
	return true
}

// Neighbor returns entry k of [Graph.In] of agent i, 0 <= k < degree of i.
func (g *Graph) Neighbor(i agent.ID, k int) agent.Neighbor {
	if !implicit(g) {
		return g.In(i)[k]
	}
	if k >= int(i) {
		k++
	}
	return agent.Neighbor{ID: agent.ID(k), Weight: g.every}
}

// wholeRow makes row i of an implicit graph.
func wholeRow(g *Graph, i agent.ID) []agent.Neighbor {
	row := make([]agent.Neighbor, g.Degree(i))
	for k := range row {
		row[k] = g.Neighbor(i, k)
	}
	return row
}

// distinct is a part of row i with all weights in it.
func distinct(g *Graph, i agent.ID) []agent.Neighbor {
	if implicit(g) {
		return []agent.Neighbor{g.Neighbor(i, 0)}
	}
	return g.In(i)
}

// sumIn and sumOut are the sums of row and column i off the diagonal.
func sumIn(g *Graph, i agent.ID) float64 {
	if implicit(g) {
		return float64(g.Agents()-1) * g.every
	}
	return rowSum(g.In(i))
}

func sumOut(g *Graph, i agent.ID) float64 {
	if implicit(g) {
		return sumIn(g, i)
	}
	return rowSum(g.Out(i))
}

// entries is the number of entries of W off the diagonal.
func entries(g *Graph) int {
	if implicit(g) {
		return g.Agents() * (g.Agents() - 1)
	}
	return len(g.in)
}

// Rows is memory for one row at a time, for whoever walks through many: of a graph that
// keeps no rows it makes them in place.
type Rows struct {
	of   *Graph
	at   agent.ID
	made []agent.Neighbor
}

// In is [Graph.In]; what it returns is valid until the next call.
func (r *Rows) In(g *Graph, i agent.ID) []agent.Neighbor {
	if !implicit(g) {
		return g.In(i)
	}
	if r.of != g {
		r.of, r.at, r.made = g, i, append(r.made[:0], wholeRow(g, i)...)
	}
	for ; r.at < i; r.at++ { // row i+1 has i where row i has i+1
		r.made[r.at].ID--
	}
	for ; r.at > i; r.at-- {
		r.made[r.at-1].ID++
	}
	return r.made
}

// Out is [Graph.Out] of the agent that In was last called for.
func (r *Rows) Out(g *Graph, i agent.ID) []agent.Neighbor {
	if !implicit(g) {
		return g.Out(i)
	}
	return r.In(g, i)
}
