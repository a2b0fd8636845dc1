package topology

import (
	"fmt"

	"sotto/config"
)

// Schedule gives the graph of every round. At is safe for concurrent use and returns the same immutable
// graph whenever it is asked for the same round; a static schedule returns one graph for all rounds.
type Schedule interface {
	At(round uint64) (*Graph, error)
}

type static struct{ g *Graph }

func (s static) At(uint64) (*Graph, error) { return s.g, nil }

// Static returns the schedule that holds g in every round.
func Static(g *Graph) Schedule { return static{g} }

// Adjacency is a list of undirected links between agents 0 .. Agents-1, before weights are put on them.
// Links have I < J, are sorted by (I, J) and occur once.
type Adjacency struct {
	Agents   int
	Edges    []Edge
	Weighted bool // Edge.Weight is set, as from an edge list file with weights
	Tries    int  // draws of a random family until the graph was connected; 1 for the others
}

// Builder makes the links of one graph family. decode fills the family's parameter struct strictly; seed
// matters to random families only.
type Builder func(decode func(any) error, agents int, seed uint64) (*Adjacency, error)

// Graphs names every graph family.
var Graphs = map[string]Builder{
	"complete":    complete,
	"ring":        ring,
	"path":        path,
	"star":        star,
	"wheel":       wheel,
	"grid":        grid,
	"torus":       torus,
	"hypercube":   hypercube,
	"er":          erdosRenyi,
	"er-fiedler":  erdosRenyiFiedler,
	"regular":     regular,
	"small-world": smallWorld,
	"geometric":   geometric,
	"file":        fromFile,
}

// Spec says which graph to build.
type Spec struct {
	Graph   string // a key of Graphs
	Weights string // a key of Weights; "" is "file" for an edge list with weights, else "metropolis"
	Agents  int    // 1 to 16,777,216
	Seed    uint64 // of random families

	// AllowUnbalanced admits a matrix that is not doubly stochastic. Plain averaging then converges to a
	// weighted mean: on a star of ten agents with uniform weights the hub counts 3.571 times, a leaf .714.
	AllowUnbalanced bool
}

// Build returns the static schedule of the graph that spec names, validated by [Validate]: connected and,
// unless AllowUnbalanced, doubly stochastic. Bad values are reported as *config.Error.
func Build(spec Spec, decode func(params any) error) (Schedule, error) {
	if spec.Agents < 1 || spec.Agents > maxAgents {
		return nil, config.Bad("agents", spec.Agents, fmt.Sprintf("1 to %d", maxAgents))
	}
	build, ok := Graphs[spec.Graph]
	if !ok {
		return nil, config.Bad("graph", spec.Graph, config.OneOf(Graphs))
	}
	adj, err := build(decode, spec.Agents, spec.Seed)
	if err != nil {
		return nil, err
	}
	weights := spec.Weights
	if weights == "" {
		weights = "metropolis"
		if adj.Weighted {
			weights = "file"
		}
	}
	weigh, ok := Weights[weights]
	if !ok {
		return nil, config.Bad("weights", weights, config.OneOf(Weights))
	}
	g, err := adj.weighted(spec.Graph, weigh)
	if err != nil {
		return nil, err
	}
	claims := Claims{Connected: true, DoublyStochastic: !spec.AllowUnbalanced}
	if err := Validate(g, claims); err != nil {
		return nil, err
	}
	return Static(g), nil
}

// New is [Build] without overrides.
func New(graph, weights string, agents int, seed uint64, decode func(params any) error) (Schedule, error) {
	return Build(Spec{Graph: graph, Weights: weights, Agents: agents, Seed: seed}, decode)
}
