package topology

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sotto/agent"
	"sotto/config"
)

const maxTries = 100

// redraw draws links until they connect all agents. A draw may fail by returning false.
// key and found name the parameter that is blamed when no draw succeeds.
func redraw(agents int, seed uint64, key string, found any,
	draw func(r *rand.Rand) (edges, bool)) (*Adjacency, error) {
	r := rand.New(rand.NewPCG(seed, 0x746f706f6c6f6779))
	for try := 1; try <= maxTries; try++ {
		e, ok := draw(r)
		if !ok || !joined(agents, e) {
			continue
		}
		a := e.adjacency(agents)
		a.Tries = try
		return a, nil
	}
	return nil, config.Bad(key, found,
		fmt.Sprintf("values that connect %d agents (0 of %d draws were connected)", agents, maxTries))
}

// joined reports whether the links connect all agents, by union-find.
func joined(agents int, e edges) bool {
	root := make([]agent.ID, agents)
	for i := range root {
		root[i] = agent.ID(i)
	}
	find := func(i agent.ID) agent.ID {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	parts := agents
	for _, l := range e {
		if a, b := find(l.I), find(l.J); a != b {
			root[a] = b
			parts--
		}
	}
	return parts == 1
}

// ERParams are the parameters of Erdős-Rényi graphs.
type ERParams struct {
	P float64 `toml:"p"` // probability of each link, in (0, 1]
}

// erdosRenyi links every pair with probability p, redrawn until connected.
func erdosRenyi(decode func(any) error, agents int, seed uint64) (*Adjacency, error) {
	var p ERParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if !(p.P > 0 && p.P <= 1) {
		return nil, config.Bad("p", p.P, "(0, 1]")
	}
	pairs := float64(agents) * float64(agents-1) / 2
	if err := bounded("p", p.P, p.P*pairs); err != nil {
		return nil, err
	}
	return redraw(agents, seed, "p", p.P, func(r *rand.Rand) (edges, bool) {
		return drawLinks(agents, p.P, r), true
	})
}

// drawLinks links every pair with probability p. Gaps between links are drawn from the
// geometric distribution, so the work is proportional to the links (Batagelj, Brandes
// 2005).
func drawLinks(agents int, p float64, r *rand.Rand) edges {
	var e edges
	pairs := float64(agents) * float64(agents-1) / 2
	logq := math.Log1p(-p) // -Inf at p = 1: every gap is 0
	for i, j := 1, -1; i < agents; {
		skip := math.Floor(math.Log1p(-r.Float64()) / logq)
		if skip >= pairs {
			break
		}
		j += 1 + int(skip)
		for i < agents && j >= i {
			j -= i
			i++
		}
		if i < agents {
			e.add(i, j)
		}
	}
	return e
}

// RegularParams are the parameters of random regular graphs.
type RegularParams struct {
	Degree int `toml:"degree"` // links of every agent: 1 to agents-1, and agents*degree even
}

// regular draws a random regular graph by pairing link ends and pairing again those that
// clash (Steger, Wormald 1999), redrawn until connected. Above half density the
// complement is drawn.
func regular(decode func(any) error, agents int, seed uint64) (*Adjacency, error) {
	var p RegularParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if p.Degree < 1 || p.Degree >= agents || agents*p.Degree%2 != 0 {
		return nil, config.Bad("degree", p.Degree,
			fmt.Sprintf("1 to %d, with agents x degree even", agents-1))
	}
	if err := bounded("degree", p.Degree, float64(agents)*float64(p.Degree)/2); err != nil {
		return nil, err
	}
	return redraw(agents, seed, "degree", p.Degree, func(r *rand.Rand) (edges, bool) {
		if 2*p.Degree <= agents {
			l, ok := pairStubs(agents, p.Degree, r)
			return l.edges(), ok
		}
		l, ok := pairStubs(agents, agents-1-p.Degree, r)
		return l.complement(), ok
	})
}

// lists holds the neighbors of every agent, unsorted.
type lists [][]agent.ID

func (l lists) has(i, j int) bool { return slices.Contains(l[i], agent.ID(j)) }

func (l lists) link(i, j int) {
	l[i] = append(l[i], agent.ID(j))
	l[j] = append(l[j], agent.ID(i))
}

func (l lists) edges() edges {
	var e edges
	for i, nbs := range l {
		for _, j := range nbs {
			if i < int(j) {
				e.add(i, int(j))
			}
		}
	}
	return e
}

func (l lists) complement() edges {
	var e edges
	linked := make([]bool, len(l))
	for i, nbs := range l {
		for _, j := range nbs {
			linked[j] = true
		}
		for j := i + 1; j < len(l); j++ {
			if !linked[j] {
				e.add(i, j)
			}
		}
		for _, j := range nbs {
			linked[j] = false
		}
	}
	return e
}

// pairStubs returns false when the ends that are left can only clash.
func pairStubs(agents, degree int, r *rand.Rand) (lists, bool) {
	l := make(lists, agents)
	stubs := make([]int, 0, agents*degree)
	for i := range agents {
		l[i] = make([]agent.ID, 0, degree)
		for range degree {
			stubs = append(stubs, i)
		}
	}
	for len(stubs) > 0 {
		r.Shuffle(len(stubs), func(a, b int) { stubs[a], stubs[b] = stubs[b], stubs[a] })
		left := stubs[:0]
		for k := 0; k < len(stubs); k += 2 {
			i, j := stubs[k], stubs[k+1]
			if i == j || l.has(i, j) {
				left = append(left, i, j)
				continue
			}
			l.link(i, j)
		}
		if len(left) == len(stubs) && !l.anyFit(left) {
			return l, false
		}
		stubs = left
	}
	return l, true
}

func (l lists) anyFit(stubs []int) bool {
	for a, i := range stubs {
		for _, j := range stubs[a+1:] {
			if i != j && !l.has(i, j) {
				return true
			}
		}
	}
	return false
}

// SmallWorldParams are the parameters of Watts-Strogatz graphs.
type SmallWorldParams struct {
	K    int     `toml:"k"`    // links of every agent in the lattice: even, 2 to agents-1
	Beta float64 `toml:"beta"` // probability that a link is rewired, in [0, 1]
}

// smallWorld links every agent to its K nearest on a ring, then moves the far end of each
// link with probability Beta to a uniform agent that is not yet linked (Watts, Strogatz
// 1998); redrawn until connected.
func smallWorld(decode func(any) error, agents int, seed uint64) (*Adjacency, error) {
	var p SmallWorldParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if p.K < 2 || p.K >= agents || p.K%2 != 0 {
		return nil, config.Bad("k", p.K, fmt.Sprintf("even values from 2 to %d", agents-1))
	}
	if !(p.Beta >= 0 && p.Beta <= 1) {
		return nil, config.Bad("beta", p.Beta, "[0, 1]")
	}
	if err := bounded("k", p.K, float64(agents)*float64(p.K)/2); err != nil {
		return nil, err
	}
	return redraw(agents, seed, "beta", p.Beta, func(r *rand.Rand) (edges, bool) {
		l := make(lists, agents)
		for i := range agents {
			for d := 1; d <= p.K/2; d++ {
				l.link(i, (i+d)%agents)
			}
		}
		for d := 1; d <= p.K/2; d++ {
			for i := range agents {
				if r.Float64() < p.Beta && len(l[i]) < agents-1 {
					l.move(i, (i+d)%agents, r)
				}
			}
		}
		return l.edges(), true
	})
}

// move replaces the link i-j by i-k with k uniform among the agents that i is not linked
// to.
func (l lists) move(i, j int, r *rand.Rand) {
	k := r.IntN(len(l))
	for k == i || l.has(i, k) {
		k = r.IntN(len(l))
	}
	l.cut(i, j)
	l.cut(j, i)
	l.link(i, k)
}

func (l lists) cut(i, j int) {
	k := slices.Index(l[i], agent.ID(j))
	l[i] = slices.Delete(l[i], k, k+1)
}

// GeometricParams are the parameters of random geometric graphs.
type GeometricParams struct {
	Radius float64 `toml:"radius"` // distance within which agents are linked, in (0, sqrt 2]
}

// geometric throws the agents uniformly into the unit square and links those at a
// distance of at most Radius; redrawn until connected.
func geometric(decode func(any) error, agents int, seed uint64) (*Adjacency, error) {
	var p GeometricParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if !(p.Radius > 0 && p.Radius <= math.Sqrt2) {
		return nil, config.Bad("radius", p.Radius, "(0, 1.414]")
	}
	links := float64(agents) * float64(agents) / 2 * min(1, math.Pi*p.Radius*p.Radius)
	if err := bounded("radius", p.Radius, links); err != nil {
		return nil, err
	}
	return redraw(agents, seed, "radius", p.Radius, func(r *rand.Rand) (edges, bool) {
		x := make([][2]float64, agents)
		for i := range x {
			x[i] = [2]float64{r.Float64(), r.Float64()}
		}
		return within(x, p.Radius), true
	})
}

// within links points at most radius apart; cells of a side of at least radius limit the
// search to neighbors.
func within(x [][2]float64, radius float64) edges {
	side := max(1, min(int(1/radius), int(math.Sqrt(float64(len(x))))))
	cell := func(v float64) int { return min(side-1, int(v*float64(side))) }
	cells := make([][]int, side*side)
	for i, p := range x {
		c := cell(p[0])*side + cell(p[1])
		cells[c] = append(cells[c], i)
	}
	var e edges
	for i, p := range x {
		for a := max(0, cell(p[0])-1); a <= min(side-1, cell(p[0])+1); a++ {
			for b := max(0, cell(p[1])-1); b <= min(side-1, cell(p[1])+1); b++ {
				for _, j := range cells[a*side+b] {
					if i < j && math.Hypot(p[0]-x[j][0], p[1]-x[j][1]) <= radius {
						e.add(i, j)
					}
				}
			}
		}
	}
	return e
}
