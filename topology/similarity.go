package topology

import (
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// Similarities names the graphs that link agents whose public vectors point the same way.
// vectors has one row for each agent; all entries but the first two may be zero. Their
// links carry objective weights (see [Spec]).
var Similarities = map[string]func(decode func(any) error, vectors tensor.Mat) (*Adjacency, error){
	"similarity": similarity,
	"knn":        nearest,
}

// SimilarityParams are the parameters of "similarity".
type SimilarityParams struct {
	Gamma     float64 `toml:"gamma"`     // width of the weights, > 0 and finite; default .1
	Threshold float64 `toml:"threshold"` // weights below it are left out, 0 to 1; default 1e-3
}

// similarity links i and j with weight exp((cos φ_ij - 1)/gamma), φ the angle between
// their vectors ("Personalized and Private Peer-to-Peer Machine Learning", arXiv
// 1705.08435, section 5; the threshold is ours).
func similarity(decode func(any) error, vectors tensor.Mat) (*Adjacency, error) {
	p := SimilarityParams{Gamma: .1, Threshold: 1e-3}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if !(p.Gamma > 0) || math.IsInf(p.Gamma, 1) {
		return nil, config.Bad("gamma", p.Gamma, "above 0 and finite")
	}
	if !(p.Threshold >= 0 && p.Threshold <= 1) {
		return nil, config.Bad("threshold", p.Threshold, "0 to 1")
	}
	n := vectors.Rows
	if n > 20_000 {
		return nil, config.Bad("agents", n,
			"at most 20000 with graph similarity, which compares all pairs; knn does not")
	}
	norms := make([]float64, n)
	for i := range norms {
		norms[i] = vectors.Row(i).Norm()
	}
	var e edges
	var weights []float64
	for i := range n {
		for j := i + 1; j < n; j++ {
			if w := math.Exp((cosine(vectors, norms, i, j) - 1) / p.Gamma); w >= p.Threshold && w > 0 {
				e.add(i, j)
				weights = append(weights, w)
			}
		}
		if err := bounded("threshold", p.Threshold, float64(len(e))); err != nil {
			return nil, err
		}
	}
	a := e.adjacency(n) // edges were added in its order
	for k := range a.Edges {
		a.Edges[k].Weight = weights[k]
	}
	a.Weighted = true
	return a, nil
}

// cosine of two rows; a zero vector is at a right angle to all others.
func cosine(v tensor.Mat, norms []float64, i, j int) float64 {
	if norms[i] == 0 || norms[j] == 0 {
		return 0
	}
	return v.Row(i).Dot(v.Row(j)) / (norms[i] * norms[j])
}

// NearestParams are the parameters of "knn".
type NearestParams struct {
	Neighbors int `toml:"neighbors"` // k: each agent is linked to its k nearest, 1 to agents-1; default 10
}

// nearest links every agent with the k others whose vectors make the smallest angles with
// its own, lower numbers first where angles are equal, in both directions and with weight
// 1. Vectors in a plane are sorted by angle, which takes n log n steps; others are
// compared in pairs, up to 20,000 agents.
func nearest(decode func(any) error, vectors tensor.Mat) (*Adjacency, error) {
	p := NearestParams{Neighbors: 10}
	if err := decode(&p); err != nil {
		return nil, err
	}
	n := vectors.Rows
	if p.Neighbors < 1 || p.Neighbors >= n {
		return nil, config.Bad("neighbors", p.Neighbors, fmt.Sprintf("1 to %d", n-1))
	}
	if err := bounded("neighbors", p.Neighbors, float64(n)*float64(p.Neighbors)); err != nil {
		return nil, err
	}
	var links []uint64
	if planar(vectors) {
		links = nearestAngles(vectors, p.Neighbors)
	} else {
		if n > 20_000 {
			return nil, config.Bad("agents", n,
				"at most 20000 with graph knn on vectors that do not lie in a plane")
		}
		links = nearestPairs(vectors, p.Neighbors)
	}
	slices.Sort(links)
	links = slices.Compact(links)
	a := &Adjacency{Agents: n, Tries: 1, Weighted: true, Edges: make([]Edge, len(links))}
	for k, l := range links {
		a.Edges[k] = Edge{I: agent.ID(l >> 32), J: agent.ID(uint32(l)), Weight: 1}
	}
	return a, nil
}

// pairOf is a link as one sortable number.
func pairOf(i, j int) uint64 { return uint64(min(i, j))<<32 | uint64(max(i, j)) }

// planar says that only the first two entries of vectors are in use.
func planar(v tensor.Mat) bool {
	for i := range v.Rows {
		for _, x := range v.Row(i)[min(2, v.Cols):] {
			if x != 0 {
				return false
			}
		}
	}
	return v.Cols >= 2
}

// nearestAngles walks from every agent's place among the sorted angles to both sides.
func nearestAngles(v tensor.Mat, k int) []uint64 {
	n := v.Rows
	angles, order := make([]float64, n), make([]int32, n)
	for i := range order {
		row := v.Row(i)
		angles[i], order[i] = math.Atan2(float64(row[1]), float64(row[0])), int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch {
		case angles[a] < angles[b]:
			return -1
		case angles[a] > angles[b]:
			return 1
		}
		return int(a - b)
	})
	apart := func(a, b int32) float64 {
		d := math.Abs(angles[a] - angles[b])
		return min(d, 2*math.Pi-d)
	}
	links := make([]uint64, 0, n*k)
	for at, i := range order {
		left, right := 1, 1
		for range k {
			l, r := order[(at-left+n)%n], order[(at+right)%n]
			if dl, dr := apart(i, l), apart(i, r); dl < dr || dl == dr && l < r {
				links = append(links, pairOf(int(i), int(l)))
				left++
			} else {
				links = append(links, pairOf(int(i), int(r)))
				right++
			}
		}
	}
	return links
}

func nearestPairs(v tensor.Mat, k int) []uint64 {
	n := v.Rows
	norms := make([]float64, n)
	for i := range norms {
		norms[i] = v.Row(i).Norm()
	}
	var links []uint64
	others, close := make([]int, 0, n), make([]float64, n)
	for i := range n {
		others = others[:0]
		for j := range n {
			if j != i {
				close[j] = cosine(v, norms, i, j)
				others = append(others, j)
			}
		}
		slices.SortStableFunc(others, func(a, b int) int {
			switch {
			case close[a] > close[b]:
				return -1
			case close[a] < close[b]:
				return 1
			}
			return 0
		})
		for _, j := range others[:k] {
			links = append(links, pairOf(i, j))
		}
	}
	return links
}

// objective lays links out as rows of objective weights W: symmetric, not negative,
// nothing on the diagonal.
func (a *Adjacency) objective(name string) (*Graph, error) {
	w := func(_, _ agent.ID, given float64) float64 {
		if a.Weighted {
			return given
		}
		return 1
	}
	g := a.rows(name, w)
	for i := range g.self {
		row := g.In(agent.ID(i))
		if len(row) == 0 {
			return nil, config.Bad("graph", fmt.Sprintf("agent %d without a neighbor", i),
				"graphs in which every agent has one, with weights objective")
		}
		for _, nb := range row {
			if !(nb.Weight > 0) || math.IsInf(nb.Weight, 1) {
				return nil, config.Bad("weights", nb.Weight, "finite weights above 0")
			}
		}
	}
	g.similar, g.symmetric = true, true // both rows of a link have its weight
	g.outStart, g.out = g.start, g.in
	return g, nil
}

// Objective reports whether the weights are those of an objective: rows do not sum to 1,
// and there is no averaging by W.
func (g *Graph) Objective() bool { return g.similar }

// Walk returns the graph with W_ij/Σ_j W_ij in place of objective weights: what an
// agent's neighbors count in its update.
func (g *Graph) Walk() *Graph {
	w := &Graph{
		name:  g.name,
		marks: marks{draws: g.draws},
		self:  make([]float64, len(g.self)),
		start: g.start,
		in:    slices.Clone(g.in),
	}
	for i := range w.self {
		row := w.In(agent.ID(i))
		sum := rowSum(row)
		for k := range row {
			row[k].Weight /= sum
		}
	}
	w.link()
	return w
}
