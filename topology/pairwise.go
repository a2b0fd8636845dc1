package topology

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"sotto/agent"
	"sotto/config"
)

// pairwise is randomised pairwise gossip (Boyd, Ghosh, Prabhakar, Shah 2006): in every
// round one agent, uniform among all, wakes and averages with one of its neighbors,
// uniform among those: W = I - (e_i - e_j)(e_i - e_j)'/2. Round 0, before which nothing
// was sent, has the whole graph. Who asks for a round again gets equal graphs; the last
// one is kept.
type pairwise struct {
	union *Graph
	seed  uint64

	mu    sync.Mutex
	at    uint64
	graph *Graph // of round at
}

// checkPairwise looks at what goes with pairs.
func (spec *Spec) checkPairwise() error {
	_, directed := Digraphs[spec.Graph]
	switch {
	case !spec.Pairwise:
		return nil
	case spec.Dropout != 0 || spec.Window != 0:
		return config.Bad("dropout", spec.Dropout, "0, without window, where agents wake in pairs")
	case directed || spec.Push:
		return config.Bad("graph", spec.Graph, "an undirected graph where agents wake in pairs")
	case spec.Agents < 2:
		return config.Bad("agents", spec.Agents, "at least 2 where agents wake in pairs")
	}
	return nil
}

// At implements Schedule.
func (p *pairwise) At(round uint64) (*Graph, error) {
	if round == 0 {
		return p.union, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.graph != nil && p.at == round {
		return p.graph, nil
	}
	key := [32]byte{16: 'p', 17: 'a', 18: 'i', 19: 'r'}
	binary.LittleEndian.PutUint64(key[:], p.seed)
	binary.LittleEndian.PutUint64(key[8:], round)
	r := rand.New(rand.NewChaCha8(key))
	n := p.union.Agents()
	i := agent.ID(r.IntN(n))
	j := p.union.Neighbor(i, r.IntN(p.union.Degree(i))).ID // the whole graph is connected
	g := p.pair(min(i, j), max(i, j))
	p.at, p.graph = round, g
	return g, nil
}

// pair is the graph of one link: FromRows without what it looks for.
func (p *pairwise) pair(i, j agent.ID) *Graph {
	n := p.union.Agents()
	g := &Graph{
		name:  p.union.name,
		self:  make([]float64, n),
		start: make([]int, n+1),
		in:    []agent.Neighbor{{ID: j, Weight: .5}, {ID: i, Weight: .5}},
		marks: marks{symmetric: true},
	}
	for k := range g.self {
		g.self[k] = 1
		g.start[k+1] = g.start[k]
		if agent.ID(k) == i || agent.ID(k) == j {
			g.self[k] = .5
			g.start[k+1]++
		}
	}
	g.outStart, g.out = g.start, g.in
	return g
}
