package topology

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"sotto/agent"
	"sotto/config"
)

// Arcs lists the directed links of a graph family round by round: round k has Rounds[k
// mod len(Rounds)]. In an Edge, I hears J. Arcs are sorted by (I, J) and occur once.
type Arcs struct {
	Agents   int
	Rounds   [][]Edge
	Weighted bool // Edge.Weight is set, as from an arc list file with weights
}

// Digraphs names every family of directed graphs, static or periodic:
//
//	directed-ring   agent r sends to r + 1 mod n
//	exp-directed    in round k agent r sends to r + 2^(k mod M) mod n,
//	                M = floor(log2(n-1)) + 1 (Assran et al. 2019)
//	exp-directed-2  and also to r - 2^(k mod M) mod n
//	exp-directed-hub
//	                as exp-directed, and every other agent also sends to agent 0
//	directed-file   the arcs of a file
//
// Their weights are "column", P_ij = 1/(1 + outdeg j), or those of the file: columns sum
// to 1. Rows need not, and then only push-sum averages on them (see [Spec]). Those of the
// first three do; on exp-directed-hub agent 0 hears all others in every round.
var Digraphs = map[string]func(decode func(any) error, agents int) (*Arcs, error){
	"directed-ring": directedRing,
	"exp-directed": func(decode func(any) error, n int) (*Arcs, error) {
		return exponential(decode, n, false)
	},
	"exp-directed-2": func(decode func(any) error, n int) (*Arcs, error) {
		return exponential(decode, n, true)
	},
	"exp-directed-hub": exponentialHub,
	"directed-file":    arcsFromFile,
}

const columnWeights = "column"

func directedRing(decode func(any) error, agents int) (*Arcs, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if err := atLeast(agents, 2); err != nil {
		return nil, err
	}
	a := &Arcs{Agents: agents}
	a.round(func(add func(from, to int)) {
		for r := range agents {
			add(r, (r+1)%agents)
		}
	})
	return a, nil
}

func exponential(decode func(any) error, agents int, both bool) (*Arcs, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if err := atLeast(agents, 2); err != nil {
		return nil, err
	}
	period := bits.Len(uint(agents - 1))
	if err := bounded("agents", agents, 2*float64(period)*float64(agents)); err != nil {
		return nil, err
	}
	a := &Arcs{Agents: agents}
	for k := range period {
		hop := 1 << k
		a.round(func(add func(from, to int)) {
			for r := range agents {
				add(r, (r+hop)%agents)
				if both && 2*hop != agents {
					add(r, (r+agents-hop)%agents)
				}
			}
		})
	}
	return a, nil
}

// exponentialHub adds to every round of the exponential graph the arcs to agent 0 that it
// lacks: all but that of the agent whose hop ends there. exponential allows twice its own
// number of links.
func exponentialHub(decode func(any) error, agents int) (*Arcs, error) {
	a, err := exponential(decode, agents, false)
	if err != nil {
		return nil, err
	}
	for k := range a.Rounds {
		for r := 1; r < agents; r++ {
			if r+1<<k != agents {
				a.Rounds[k] = append(a.Rounds[k], Edge{I: 0, J: agent.ID(r)})
			}
		}
		slices.SortFunc(a.Rounds[k], compareEdges)
	}
	return a, nil
}

func arcsFromFile(decode func(any) error, agents int) (*Arcs, error) {
	var p FileParams
	b, err := p.read(decode, "an arc list")
	if err != nil {
		return nil, err
	}
	return ReadArcs(bytes.NewReader(b), p.Path, agents)
}

// round appends one round of arcs.
func (a *Arcs) round(fill func(add func(from, to int))) {
	var e []Edge
	fill(func(from, to int) { e = append(e, Edge{I: agent.ID(to), J: agent.ID(from)}) })
	slices.SortFunc(e, compareEdges)
	a.Rounds = append(a.Rounds, e)
}

// arcs are both directions of every link.
func (a *Adjacency) arcs() *Arcs {
	d := &Arcs{Agents: a.Agents}
	d.round(func(add func(from, to int)) {
		for _, e := range a.Edges {
			add(int(e.I), int(e.J))
			add(int(e.J), int(e.I))
		}
	})
	return d
}

// columns returns the graph of one round's arcs. Without given weights the sender j
// divides itself evenly between its receivers and itself; what the arcs leave of 1 stays
// at the sender.
func columns(name string, agents int, arcs []Edge, given bool) *Graph {
	g := &Graph{
		name:  name,
		self:  make([]float64, agents),
		start: make([]int, agents+1),
		in:    make([]agent.Neighbor, len(arcs)),
		marks: marks{draws: 1},
	}
	out := make([]int, agents)
	for _, e := range arcs {
		out[e.J]++
		g.start[e.I+1]++
	}
	for i := range agents {
		g.start[i+1] += g.start[i]
	}
	for k, e := range arcs { // sorted by receiver
		w := e.Weight
		if !given {
			w = 1 / float64(1+out[e.J])
		}
		g.in[k] = agent.Neighbor{ID: e.J, Weight: w}
	}
	g.link()
	for j := range agents {
		g.self[j] = 1 - rowSum(g.Out(agent.ID(j)))
	}
	return g
}

// periodic repeats its graphs.
type periodic []*Graph

func (p periodic) At(round uint64) (*Graph, error) { return p[round%uint64(len(p))], nil }

// directed builds the schedule of a family of directed graphs, or of an undirected one
// with column weights.
func directed(spec *Spec, a *Arcs) (Schedule, error) {
	given := spec.Weights == "file" || spec.Weights == "" && a.Weighted
	if err := checkListed(spec.Graph, spec.Weights, a.Weighted); err != nil {
		return nil, err
	}
	switch {
	case given && !a.Weighted:
		return nil, config.Bad("weights", spec.Weights, "column where the arcs carry no weights")
	case !given && spec.Weights != "" && spec.Weights != columnWeights:
		return nil, config.Bad("weights", spec.Weights,
			"column, or file with an arc list that has weights, for a directed graph")
	case given && spec.Dropout > 0:
		return nil, config.Bad("dropout", spec.Dropout,
			"0 with weights of a file, which say nothing about graphs that lack links")
	}
	s := make(periodic, len(a.Rounds))
	for k, arcs := range a.Rounds {
		g := columns(spec.Graph, a.Agents, arcs, given)
		if err := validatePush(g, spec.Push); err != nil {
			return nil, err
		}
		s[k] = g
	}
	if spec.Dropout > 0 {
		return spec.checkRounds(&dropout{
			probability: spec.Dropout,
			seed:        spec.Seed,
			rounds:      a.Rounds,
			build: func(arcs []Edge) (*Graph, error) {
				g := columns(spec.Graph, a.Agents, arcs, false)
				return g, validatePush(g, spec.Push)
			},
		})
	}
	window := cmp.Or(spec.Window, uint64(len(s)))
	for k := range s {
		if err := JointlyConnected(s, uint64(k), window); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// validatePush checks one graph of directed links: columns always, rows unless push-sum
// runs on it.
func validatePush(g *Graph, push bool) error {
	if push {
		return Validate(g, Claims{ColumnStochastic: true})
	}
	err := Validate(g, Claims{DoublyStochastic: true})
	if err != nil {
		err = config.Bad("graph", fmt.Sprintf("a %s whose rows do not sum to 1 in every round", g.name),
			"algorithm sgp, which needs no more than columns that sum to 1; or a graph that is doubly "+
				"stochastic, as without dropout exp-directed is")
	}
	return err
}
