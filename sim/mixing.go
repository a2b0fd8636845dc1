package sim

import (
	"sotto/agent"
	"sotto/tensor"
	"sotto/topology"
)

// mixing forms the sums Σ_j w_ij x_j of a round for all agents that are agent.Mixers,
// before any of them is stepped. On an even complete graph there is one sum for all; on
// a dense one eight agents are done at a time, as a product of matrices; on others each
// agent's is its own, but all agents go through the same columns together, so that models
// larger than the caches are read from memory once. The sums have the bits that the
// algorithms themselves would find: see algo's mixer.
type mixing struct {
	last   *topology.Graph // of the round before
	of     *topology.Graph // whose groups these are
	groups []group         // nil: agents sum themselves
	even   bool

	bodies, sums []tensor.Vec // by agent: what it has sent; where its sum goes, nil: nowhere
	dim          int          // of bodies
}

// group is up to tensor.SumRows agents whose sums are formed together.
type group struct {
	first   agent.ID
	agents  int
	from    []agent.ID // all that one of them hears, and they themselves, in order
	weights []float64  // of each of from, tensor.SumRows at a time; nil: one agent, on its own
}

const (
	fewestTerms = 16      // of a row whose sum is worth a product
	largestPlan = 1 << 23 // weights of all groups together
	largeModel  = 1 << 16 // values of a model that fills a cache
	cacheValues = 1 << 17 // values that a column block of all bodies has, half of a megabyte
	fewestBlock = 64      // columns of a block; a multiple of what a kernel does at a time
	mostBlock   = 4096
)

// prepare looks at what has been sent for this round and finds the agents whose sums can
// be formed. Nothing is where messages may be missing.
func (s *rounds) prepare(g *topology.Graph) bool {
	m := &s.mixing
	if s.faults != nil || s.cfg.GaussSeidel || len(s.peers) < 2 {
		return false
	}
	if m.bodies == nil {
		m.bodies, m.sums = make([]tensor.Vec, len(s.peers)), make([]tensor.Vec, len(s.peers))
	}
	some := false
	for i := range s.peers {
		p := &s.peers[i]
		if len(p.sent) != 1 || p.sent[0].To != agent.Broadcast ||
			i > 0 && len(p.sent[0].Body) != len(m.bodies[0]) {
			clear(m.sums)
			return false
		}
		m.bodies[i], m.sums[i] = p.sent[0].Body, nil
		if x, ok := s.cfg.Agents[i].Algorithm.(agent.Mixer); ok && p.lends {
			if dst := x.Mixed(); len(dst) == len(m.bodies[i]) {
				m.sums[i], some = dst, true
			}
		}
	}
	m.dim = len(m.bodies[0])
	if m.of != g && (m.last == g || m.dim >= mostBlock || g.Even()) { // graphs of one round are not worth it
		m.plan(g)
	}
	m.last = g
	if !some || m.of != g || m.groups == nil && !m.even {
		clear(m.sums)
		return false
	}
	return true
}

// plan chooses how the sums of a graph are formed.
func (m *mixing) plan(g *topology.Graph) {
	m.of, m.groups, m.even = g, nil, g.Even()
	if m.even {
		return
	}
	var rows topology.Rows
	n, total := g.Agents(), 0
	for lo := 0; lo < n; lo += tensor.SumRows {
		next := dense(g, &rows, agent.ID(lo), min(tensor.SumRows, n-lo))
		for _, one := range next {
			total += len(one.weights)
		}
		if total > largestPlan {
			m.groups = nil
			return
		}
		m.groups = append(m.groups, next...)
	}
	if total == 0 && m.dim < largeModel {
		m.groups = nil
	}
}

// dense makes one group of the agents from first on, or one for each where a product
// would have more zeros than weights.
func dense(g *topology.Graph, rows *topology.Rows, first agent.ID, agents int) []group {
	heard, union := make([]bool, g.Agents()), 0
	hear := func(j agent.ID) {
		if !heard[j] {
			heard[j] = true
			union++
		}
	}
	entries, least := 0, g.Agents()
	for i := first; i < first+agent.ID(agents); i++ {
		hear(i)
		least, entries = min(least, g.Degree(i)), entries+1+g.Degree(i)
		for _, nb := range rows.In(g, i) {
			hear(nb.ID)
		}
	}
	if least < fewestTerms || 2*union > entries {
		all := make([]group, agents)
		for k := range all {
			all[k] = group{first: first + agent.ID(k), agents: 1}
		}
		return all
	}
	one := group{first: first, agents: agents, weights: make([]float64, tensor.SumRows*union)}
	for j := range agent.ID(g.Agents()) {
		if heard[j] {
			for r := range agents {
				one.weights[tensor.SumRows*len(one.from)+r] = g.Weight(first+agent.ID(r), j)
			}
			one.from = append(one.from, j)
		}
	}
	return []group{one}
}

// mix forms the sums of a round, in blocks of columns.
func (s *rounds) mix(g *topology.Graph) error {
	if !s.prepare(g) {
		return nil
	}
	m := &s.mixing
	block := min(max(cacheValues/len(m.bodies)/fewestBlock*fewestBlock, fewestBlock), mostBlock)
	blocks, parts := (m.dim+block-1)/block, 1
	if !m.even && blocks < 4*s.workers.Workers { // small models: split the agents as well
		parts = min(len(m.groups), 4*s.workers.Workers)
	}
	return s.workers.Do(blocks*parts, func(k int, w *worker) error {
		lo, part := k/parts*block, k%parts
		hi := min(lo+block, m.dim)
		if m.even {
			m.same(w, g, lo, hi)
			return nil
		}
		for _, one := range m.groups[part*len(m.groups)/parts : (part+1)*len(m.groups)/parts] {
			m.group(w, g, &one, lo, hi)
		}
		return nil
	})
}

// same forms columns of the one sum that all agents of an even graph have.
func (m *mixing) same(w *worker, g *topology.Graph, lo, hi int) {
	var first tensor.Vec
	for i, dst := range m.sums {
		switch {
		case dst == nil:
		case first == nil:
			m.one(w, g, agent.ID(i), lo, hi)
			first = dst[lo:hi]
		default:
			copy(dst[lo:hi], first)
		}
	}
}

// group forms columns of a group's sums.
func (m *mixing) group(w *worker, g *topology.Graph, of *group, lo, hi int) {
	c := &w.sums
	c.dsts, c.xs = c.dsts[:0], c.xs[:0]
	for i := range of.agents {
		if dst := m.sums[int(of.first)+i]; dst != nil {
			c.dsts = append(c.dsts, dst)
		}
	}
	if of.weights != nil && len(c.dsts) == of.agents {
		for _, j := range of.from {
			c.xs = append(c.xs, m.bodies[j])
		}
		tensor.WeightedSums(c.dsts, c.xs, of.weights, lo, hi)
		clear(c.xs)
	}
	for i := of.first; i < of.first+agent.ID(of.agents); i++ {
		// A value that is not finite times the weight 0 of who does not hear it is NaN.
		if dst := m.sums[i]; dst != nil &&
			(of.weights == nil || len(c.dsts) < of.agents || !dst[lo:hi].Finite()) {
			m.one(w, g, i, lo, hi)
		}
	}
}

// one forms columns of one agent's sum, as an algorithm does.
func (m *mixing) one(w *worker, g *topology.Graph, i agent.ID, lo, hi int) {
	c := &w.sums
	c.weights, c.xs = c.weights[:0], c.xs[:0]
	add := func(j agent.ID, weight float64) {
		c.weights, c.xs = append(c.weights, weight), append(c.xs, m.bodies[j][lo:hi])
	}
	row := c.rows.In(g, i)
	k := 0
	for ; k < len(row) && row[k].ID < i; k++ {
		add(row[k].ID, row[k].Weight)
	}
	for add(i, g.SelfWeight(i)); k < len(row); k++ {
		add(row[k].ID, row[k].Weight)
	}
	tensor.WeightedSum(m.sums[i][lo:hi], c.weights, c.xs)
	clear(c.xs)
}

// summing is a worker's scratch for sums.
type summing struct {
	rows     topology.Rows
	weights  []float64
	xs, dsts []tensor.Vec
}
