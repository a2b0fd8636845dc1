package topology

import (
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
)

// Weighting turns links into weights: it returns the function (i, j, weight of the link
// in the file) -> w_ij for linked i and j. w_ii is the remainder of the row.
type Weighting func(a *Adjacency, degree []int) (func(i, j agent.ID, given float64) float64, error)

// Weights names every rule that puts weights on a graph's links:
//
//	metropolis  w_ij = 1/(1 + max(deg i, deg j)); symmetric and doubly stochastic on
//	            every graph
//	lazy        half of metropolis off the diagonal, (I + W)/2: no negative eigenvalues
//	max-degree  w_ij = 1/(1 + max deg); symmetric and doubly stochastic
//	uniform     w_ij = 1/(1 + deg i), rows of A + I scaled to 1;
//	            doubly stochastic on regular graphs only
//	file        the weights of the edge list; w_ii is what remains of 1
//
// Metropolis weights: Xiao, Boyd, Lall 2005.
var Weights = map[string]Weighting{
	"metropolis": metropolis,
	"lazy":       lazy,
	"max-degree": maxDegree,
	"uniform":    uniform,
	"file":       given,
}

func metropolis(_ *Adjacency, degree []int) (func(i, j agent.ID, _ float64) float64, error) {
	return func(i, j agent.ID, _ float64) float64 { return 1 / float64(1+max(degree[i], degree[j])) }, nil
}

// Metropolis returns the graph with the links of g, whatever their weights, and
// Metropolis weights on them: w_ij = 1/(1 + max(degree i, degree j)).
func Metropolis(g *Graph) (*Graph, error) {
	if g.Directed() {
		return nil, config.Bad("graph", g.Name(), "an undirected graph for metropolis weights")
	}
	adj := &Adjacency{Agents: g.Agents(), Tries: 1, Complete: implicit(g)}
	if adj.Complete {
		return adj.weighted(g.Name(), metropolis)
	}
	for i := range agent.ID(g.Agents()) {
		for _, nb := range g.In(i) {
			if nb.ID > i {
				adj.Edges = append(adj.Edges, Edge{I: i, J: nb.ID})
			}
		}
	}
	return adj.weighted(g.Name(), metropolis)
}

func lazy(_ *Adjacency, degree []int) (func(i, j agent.ID, _ float64) float64, error) {
	return func(i, j agent.ID, _ float64) float64 { return .5 / float64(1+max(degree[i], degree[j])) }, nil
}

func maxDegree(_ *Adjacency, degree []int) (func(i, j agent.ID, _ float64) float64, error) {
	most := 0
	for _, d := range degree {
		most = max(most, d)
	}
	w := 1 / float64(1+most)
	return func(_, _ agent.ID, _ float64) float64 { return w }, nil
}

func uniform(_ *Adjacency, degree []int) (func(i, j agent.ID, _ float64) float64, error) {
	return func(i, _ agent.ID, _ float64) float64 { return 1 / float64(1+degree[i]) }, nil
}

func given(a *Adjacency, _ []int) (func(i, j agent.ID, given float64) float64, error) {
	if !a.Weighted {
		return nil, config.Bad("weights", "file",
			"metropolis, lazy, max-degree or uniform where the links carry no weights")
	}
	return func(_, _ agent.ID, w float64) float64 { return w }, nil
}

// weighted lays the links out as rows and puts weights on them.
func (a *Adjacency) weighted(name string, weigh Weighting) (*Graph, error) {
	n := a.Agents
	degree := make([]int, n)
	if a.Complete {
		for i := range degree {
			degree[i] = n - 1
		}
	}
	for _, e := range a.Edges {
		degree[e.I]++
		degree[e.J]++
	}
	w, err := weigh(a, degree)
	if err != nil {
		return nil, err
	}
	if a.Complete {
		every := w(0, 1, 0)
		g := completeGraph(name, slices.Repeat([]float64{rest(n, every)}, n), every)
		g.draws = a.Tries
		return g, nil
	}
	g := a.rows(name, w)
	for i := range n {
		s := 1 - rowSum(g.In(agent.ID(i)))
		if s < 0 && s > -rowTolerance { // rounding of weights that sum to 1
			s = 0
		}
		g.self[i] = s
	}
	g.link()
	if g.every != 0 {
		for i := range g.self {
			g.self[i] = rest(n, g.every)
		}
	}
	return g, nil
}

// rows lays the links out with w_ij from w and nothing on the diagonal; the caller fills
// that and links.
func (a *Adjacency) rows(name string, w func(i, j agent.ID, given float64) float64) *Graph {
	degree := make([]int, a.Agents)
	for _, e := range a.Edges {
		degree[e.I]++
		degree[e.J]++
	}
	g := &Graph{
		name:  name,
		marks: marks{draws: a.Tries},
		self:  make([]float64, a.Agents),
		start: make([]int, a.Agents+1),
		in:    make([]agent.Neighbor, 2*len(a.Edges)),
	}
	for i, d := range degree {
		g.start[i+1] = g.start[i] + d
	}
	// Edges are sorted by (I, J) with I < J, so every row fills in ascending order.
	next := degree
	copy(next, g.start)
	for _, e := range a.Edges {
		g.in[next[e.I]] = agent.Neighbor{ID: e.J, Weight: w(e.I, e.J, e.Weight)}
		g.in[next[e.J]] = agent.Neighbor{ID: e.I, Weight: w(e.J, e.I, e.Weight)}
		next[e.I]++
		next[e.J]++
	}
	return g
}

// rowSum adds weights with Neumaier's compensation: a hub of a million leaves still sums
// to 1e-15.
func rowSum(row []agent.Neighbor) float64 {
	var s, c float64
	for _, nb := range row {
		t := s + nb.Weight
		if math.Abs(s) >= math.Abs(nb.Weight) {
			c += (s - t) + nb.Weight
		} else {
			c += (nb.Weight - t) + s
		}
		s = t
	}
	return s + c
}
