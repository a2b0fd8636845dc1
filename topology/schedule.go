package topology

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/tensor"
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
	Graph string // a key of Graphs
	// Weights is a key of Weights, "" for "file" with an edge list that has weights, else "metropolis"; or "objective", ""
	// for a graph of Similarities: the weights W_ij >= 0 of an objective that draws neighbors' models together, symmetric,
	// not mixing weights. A family without weights of its own then has 1 on every link.
	Weights string
	Agents  int        // 1 to 16,777,216
	Seed    uint64     // of random families
	Vectors tensor.Mat // of the graphs of Similarities: one row for each agent. They must be public

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
	adj, err := links(spec, decode)
	if err != nil {
		return nil, err
	}
	weights := spec.Weights
	if _, ok := Similarities[spec.Graph]; ok && weights == "" {
		weights = objectiveWeights
	}
	if weights == objectiveWeights {
		g, err := adj.objective(spec.Graph)
		return static{g}, err
	}
	if weights == "" {
		weights = "metropolis"
		if adj.Weighted {
			weights = "file"
		}
	}
	weigh, ok := Weights[weights]
	if !ok {
		return nil, config.Bad("weights", weights, config.OneOf(Weights)+"; objective with an algorithm of personal models")
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

const objectiveWeights = "objective"

// links makes the links of the graph that spec names.
func links(spec Spec, decode func(any) error) (*Adjacency, error) {
	if build, ok := Similarities[spec.Graph]; ok {
		if spec.Vectors.Rows != spec.Agents {
			return nil, config.Bad("graph", spec.Graph, fmt.Sprintf("a data set with one public vector for each of %d agents (found %d), such as linear-tasks", spec.Agents, spec.Vectors.Rows))
		}
		return build(decode, spec.Vectors)
	}
	build, ok := Graphs[spec.Graph]
	if !ok {
		return nil, config.Bad("graph", spec.Graph, config.OneOf(Graphs)+", "+strings.TrimPrefix(config.OneOf(Similarities), "one of "))
	}
	return build(decode, spec.Agents, spec.Seed)
}

// New is [Build] without overrides.
func New(graph, weights string, agents int, seed uint64, decode func(params any) error) (Schedule, error) {
	return Build(Spec{Graph: graph, Weights: weights, Agents: agents, Seed: seed}, decode)
}
