// Package topology holds communication graphs with their mixing matrices: who hears whom
// in a round and with which weight. W = [w_ij] has the receiver as row i, x_i' = sum over
// j of w_ij x_j, so that a message from j is weighted by w_ij at i.
//
// A [Schedule] gives the [Graph] of each round. Graphs are immutable and stored as
// compressed rows. [Build] validates every graph it hands out: rows sum to 1, weights are
// not negative, the graph is connected and, unless it is overridden, the matrix is doubly
// stochastic.
package topology

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
)

const (
	maxAgents = 1 << 24
	maxEdges  = 1 << 25 // 1 GiB of rows
)

// Graph is an immutable communication graph with the weights of its mixing matrix. Row i
// holds the agents that i hears. A Graph takes 16 bytes for each entry of W off the
// diagonal and 16 bytes for each agent, twice that when W is not symmetric. A complete
// graph of 65 agents or more with one weight for all pairs takes 8 bytes for each agent.
type Graph struct {
	name     string
	start    []int            // row i is in[start[i]:start[i+1]]
	in       []agent.Neighbor // senders, sorted within a row
	self     []float64
	outStart []int // columns, in the same form; shared with the rows when W is symmetric
	out      []agent.Neighbor
	// every is the weight of all pairs of a complete graph that has one, 0 for all other
	// graphs. The rows and columns of many agents are then not kept.
	every float64
	marks
}

// marks are what is known of a graph.
type marks struct {
	symmetric bool
	directed  bool
	similar   bool // see Objective
	draws     int
}

// Agents returns the number of agents.
func (g *Graph) Agents() int { return len(g.self) }

// Name returns the family the graph was built from, for instance "ring".
func (g *Graph) Name() string { return g.name }

// In returns the senders that agent i hears, sorted by ID, with weight w_ij; i itself is
// not among them. The slice belongs to the graph and must not be changed. Complete graphs
// make it at each call: who asks for many rows uses [Rows].
func (g *Graph) In(i agent.ID) []agent.Neighbor {
	if implicit(g) {
		return wholeRow(g, i)
	}
	return g.in[g.start[i]:g.start[i+1]:g.start[i+1]]
}

// Out returns the receivers of agent i's broadcasts, sorted by ID, with weight w_ji: the
// weight that the receiver j gives to i. The slice belongs to the graph and must not be
// changed.
func (g *Graph) Out(i agent.ID) []agent.Neighbor {
	if implicit(g) {
		return wholeRow(g, i)
	}
	return g.out[g.outStart[i]:g.outStart[i+1]:g.outStart[i+1]]
}

// SelfWeight returns w_ii.
func (g *Graph) SelfWeight(i agent.ID) float64 { return g.self[i] }

// Degree returns the number of agents that i hears, without i.
func (g *Graph) Degree(i agent.ID) int {
	if implicit(g) {
		return len(g.self) - 1
	}
	return g.start[i+1] - g.start[i]
}

// OutDegree returns the number of agents that hear i, without i.
func (g *Graph) OutDegree(i agent.ID) int {
	if implicit(g) {
		return len(g.self) - 1
	}
	return g.outStart[i+1] - g.outStart[i]
}

// Weight returns w_ij, 0 where i does not hear j or one of them is not in the graph; w_ii
// for j = i.
func (g *Graph) Weight(i, j agent.ID) float64 {
	if n := len(g.self); int(i) >= n || int(j) >= n {
		return 0
	}
	if i == j {
		return g.self[i]
	}
	if implicit(g) {
		return g.every
	}
	row := g.In(i)
	k, ok := slices.BinarySearchFunc(row, j, func(nb agent.Neighbor, id agent.ID) int {
		return int(nb.ID) - int(id)
	})
	if !ok {
		return 0
	}
	return row[k].Weight
}

// Symmetric reports whether w_ij = w_ji for all pairs, bit for bit.
func (g *Graph) Symmetric() bool { return g.symmetric }

// Draws returns how many times a random family was drawn until the graph was connected, 1
// for the other families, and 0 for a graph that was not built by [Build].
func (g *Graph) Draws() int { return g.draws }

// Directed reports whether some agent hears another that does not hear it.
func (g *Graph) Directed() bool { return g.directed }

// Edge is one weighted link. In a symmetric graph it stands for both directions and I <
// J; otherwise I receives from J with weight w_IJ.
type Edge struct {
	I, J   agent.ID
	Weight float64
}

// Edges yields every link once, sorted by (I, J): unordered pairs with I < J when the
// graph is [Graph.Symmetric], otherwise every entry of W off the diagonal.
func (g *Graph) Edges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		var rows Rows
		for i := range g.self {
			for _, nb := range rows.In(g, agent.ID(i)) {
				if g.symmetric && nb.ID < agent.ID(i) {
					continue
				}
				if !yield(Edge{agent.ID(i), nb.ID, nb.Weight}) {
					return
				}
			}
		}
	}
}

// Links returns the number of links: unordered pairs of agents that hear each other, or
// in a directed graph the number of arcs.
func (g *Graph) Links() int {
	if g.directed {
		return entries(g)
	}
	return entries(g) / 2
}

// Connected reports whether every agent's value reaches every other agent (strongly, if
// directed).
func (g *Graph) Connected() bool {
	if implicit(g) {
		return true
	}
	if !reachesAll(g.start, g.in) {
		return false
	}
	return !g.directed || reachesAll(g.outStart, g.out)
}

func reachesAll(start []int, nbs []agent.Neighbor) bool {
	n := len(start) - 1
	seen := make([]bool, n)
	queue := []agent.ID{0}
	seen[0] = true
	count := 1
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, nb := range nbs[start[i]:start[i+1]] {
			if !seen[nb.ID] {
				seen[nb.ID] = true
				count++
				queue = append(queue, nb.ID)
			}
		}
	}
	return count == n
}

// FromRows returns the graph with the rows in[i] (senders of i with w_ij, in any order)
// and diagonal self. It checks the form: 1 to 16,777,216 agents, as many rows as self
// weights, IDs in range, no agent among its own senders, none twice, weights finite. It
// does not check sums, signs or connectivity: see [Validate].
func FromRows(name string, self []float64, in [][]agent.Neighbor) (*Graph, error) {
	n := len(self)
	if n < 1 || n > maxAgents {
		return nil, config.Bad("agents", n, fmt.Sprintf("1 to %d", maxAgents))
	}
	if len(in) != n {
		return nil, config.Bad("rows", len(in), fmt.Sprintf("%d, one for each self weight", n))
	}
	g := &Graph{name: name, self: slices.Clone(self), start: make([]int, n+1)}
	for i, row := range in {
		if !finite(self[i]) {
			return nil, config.Bad(fmt.Sprintf("self[%d]", i), self[i], "finite weights")
		}
		row = slices.Clone(row)
		slices.SortFunc(row, func(a, b agent.Neighbor) int { return int(a.ID) - int(b.ID) })
		for k, nb := range row {
			key := fmt.Sprintf("row[%d]", i)
			switch {
			case int(nb.ID) >= n || int(nb.ID) == i:
				return nil, config.Bad(key, int(nb.ID), fmt.Sprintf("agents 0 to %d other than %d", n-1, i))
			case k > 0 && row[k-1].ID == nb.ID:
				return nil, config.Bad(key, int(nb.ID), "each sender once")
			case !finite(nb.Weight):
				return nil, config.Bad(key, nb.Weight, "finite weights")
			}
		}
		g.in = append(g.in, row...)
		g.start[i+1] = len(g.in)
	}
	g.link()
	return g, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// link fills the columns and the symmetric and directed marks from the rows.
func (g *Graph) link() {
	if complement(g); implicit(g) {
		g.symmetric = true
		return
	}
	n := len(g.self)
	outStart := make([]int, n+1)
	for _, nb := range g.in {
		outStart[nb.ID+1]++
	}
	for i := range n {
		outStart[i+1] += outStart[i]
	}
	out := make([]agent.Neighbor, len(g.in))
	next := slices.Clone(outStart[:n])
	for i := range n {
		for _, nb := range g.In(agent.ID(i)) {
			out[next[nb.ID]] = agent.Neighbor{ID: agent.ID(i), Weight: nb.Weight}
			next[nb.ID]++
		}
	}
	g.directed = !slices.Equal(g.start, outStart) ||
		!slices.EqualFunc(g.in, out, func(a, b agent.Neighbor) bool { return a.ID == b.ID })
	g.symmetric = !g.directed && slices.Equal(g.in, out)
	if g.symmetric {
		g.outStart, g.out = g.start, g.in
		return
	}
	g.outStart, g.out = outStart, out
}
