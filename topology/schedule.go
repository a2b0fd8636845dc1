package topology

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/tensor"
)

// Schedule gives the graph of every round. At is safe for concurrent use and returns
// equal immutable graphs whenever it is asked for the same round; a static schedule
// returns one graph for all rounds.
type Schedule interface {
	At(round uint64) (*Graph, error)
}

type static struct{ g *Graph }

func (s static) At(uint64) (*Graph, error) { return s.g, nil }

// Static returns the schedule that holds g in every round.
func Static(g *Graph) Schedule { return static{g} }

// Adjacency is a list of undirected links between agents 0 .. Agents-1, before weights
// are put on them. Links have I < J, are sorted by (I, J) and occur once.
type Adjacency struct {
	Agents   int
	Edges    []Edge
	Complete bool // every pair is linked, and Edges is empty
	Weighted bool // Edge.Weight is set, as from an edge list file with weights
	Tries    int  // draws of a random family until the graph was connected; 1 for the others
}

// Builder makes the links of one graph family. decode fills the family's parameter struct
// strictly; seed matters to random families only.
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
	// Weights is a key of Weights, "" for "file" with an edge list that has weights,
	// which takes no others, else "metropolis"; or "objective", "" for a graph of
	// Similarities: the weights W_ij >= 0 of an objective that draws neighbors' models
	// together, symmetric, not mixing weights. A family without weights of its own then
	// has 1 on every link.
	Weights string
	Agents  int        // 1 to 16,777,216
	Seed    uint64     // of random families
	Vectors tensor.Mat // of the graphs of Similarities: one row for each agent. They must be public

	// AllowUnbalanced admits a matrix that is not doubly stochastic. Plain averaging then
	// converges to a weighted mean: on a star of ten agents with uniform weights the hub
	// counts 3.571 times, a leaf .714.
	AllowUnbalanced bool

	// Push says that push-sum runs on the graph: columns must sum to 1, rows need not. It
	// admits weights "column" on every graph, P_ij = 1/(1 + outdeg j), and every graph of
	// Digraphs.
	Push bool
	// Dropout is the probability, in [0, 1), that a link is missing from a round. Every
	// round then has weights of its own.
	Dropout float64
	// Pairwise: in every round after the first one random agent averages with one random
	// neighbor, and all others keep what they have. The weights are 1/2.
	Pairwise bool
	// Window is the number of rounds, 0 to 1,000, whose links together must connect all
	// agents, where links change; 0: the period of the graph, 10 with Dropout.
	Window uint64
	// Rounds of the run, in all of which Build looks for windows that are not connected.
	// 0: in the first one only.
	Rounds uint64
}

// Build returns the schedule of the graph that spec names, validated by [Validate]:
// connected and, unless AllowUnbalanced or Push, doubly stochastic. Graphs of Digraphs
// and graphs whose links drop out are connected in every window ([JointlyConnected]),
// graphs of Pairwise change too; all others are static. decode fills the family's
// parameters and refuses unknown keys; nil leaves the defaults. Bad values are
// reported as *config.Error.
func Build(spec Spec, decode func(params any) error) (Schedule, error) {
	if spec.Agents < 1 || spec.Agents > maxAgents {
		return nil, config.Bad("agents", spec.Agents, fmt.Sprintf("1 to %d", maxAgents))
	}
	if decode == nil {
		decode = func(any) error { return nil }
	}
	if err := spec.checkVarying(); err != nil {
		return nil, err
	}
	if err := spec.checkPairwise(); err != nil {
		return nil, err
	}
	if family, ok := Digraphs[spec.Graph]; ok {
		arcs, err := family(decode, spec.Agents)
		if err != nil {
			return nil, err
		}
		return directed(&spec, arcs)
	}
	adj, err := links(spec, decode)
	if err != nil {
		return nil, err
	}
	if err := checkListed(spec.Graph, spec.Weights, adj.Weighted); err != nil {
		return nil, err
	}
	if _, plain := Weights[spec.Weights]; spec.Dropout > 0 || spec.Weights == "file" ||
		spec.Weights != "" && !plain {
		if err := adj.expand(); err != nil {
			return nil, err
		}
	}
	if spec.Weights == columnWeights && spec.Push {
		if spec.Dropout == 0 && !joined(adj.Agents, adj.Edges) {
			return nil, config.Bad("graph", "a disconnected "+spec.Graph, "connected graphs")
		}
		return directed(&spec, adj.arcs())
	}
	weights := spec.Weights
	if _, ok := Similarities[spec.Graph]; ok && weights == "" {
		weights = objectiveWeights
	}
	if weights == objectiveWeights {
		if spec.Pairwise {
			return nil, config.Bad("weights", weights, "mixing weights where agents wake in pairs")
		}
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
		return nil, config.Bad("weights", weights, config.OneOf(Weights)+
			"; objective with an algorithm of personal models; column with algorithm sgp")
	}
	if spec.Dropout > 0 {
		return spec.undirectedDropout(adj, weights, weigh)
	}
	g, err := adj.weighted(spec.Graph, weigh)
	if err != nil {
		return nil, err
	}
	claims := Claims{Connected: true, DoublyStochastic: !spec.AllowUnbalanced}
	if err := Validate(g, claims); err != nil {
		return nil, err
	}
	if spec.Pairwise {
		return &pairwise{union: g, seed: spec.Seed}, nil
	}
	return Static(g), nil
}

// checkListed refuses weights beside those of a list, which would be dropped.
func checkListed(graph, weights string, weighted bool) error {
	_, rule := Weights[weights]
	if !weighted || graph != "file" && graph != "directed-file" || weights == "file" ||
		!rule && weights != columnWeights {
		return nil
	}
	return config.Bad("weights", weights, "file, or no key, where the list has weights")
}

const objectiveWeights = "objective"

// undirectedDropout is the schedule of an undirected graph whose links drop out.
func (spec *Spec) undirectedDropout(adj *Adjacency, weights string, weigh Weighting) (Schedule, error) {
	if weights == "file" {
		return nil, config.Bad("dropout", spec.Dropout,
			"0 with weights of a file, which say nothing about graphs that lack links")
	}
	claims := Claims{DoublyStochastic: !spec.AllowUnbalanced}
	return spec.checkRounds(&dropout{
		probability: spec.Dropout,
		seed:        spec.Seed,
		rounds:      [][]Edge{adj.Edges},
		mutual:      true,
		build: func(links []Edge) (*Graph, error) {
			left := &Adjacency{Agents: adj.Agents, Edges: links, Tries: adj.Tries}
			g, err := left.weighted(spec.Graph, weigh)
			if err != nil {
				return nil, err
			}
			return g, Validate(g, claims)
		},
	})
}

// links makes the links of the graph that spec names.
func links(spec Spec, decode func(any) error) (*Adjacency, error) {
	if build, ok := Similarities[spec.Graph]; ok {
		if spec.Vectors.Rows != spec.Agents {
			return nil, config.Bad("graph", spec.Graph,
				fmt.Sprintf("a data set with one public vector for each of %d agents (found %d), such as "+
					"linear-tasks", spec.Agents, spec.Vectors.Rows))
		}
		return build(decode, spec.Vectors)
	}
	build, ok := Graphs[spec.Graph]
	if !ok {
		more := func(m string) string { return ", " + strings.TrimPrefix(m, "one of ") }
		return nil, config.Bad("graph", spec.Graph, config.OneOf(Graphs)+more(config.OneOf(Similarities))+
			more(config.OneOf(Digraphs)))
	}
	return build(decode, spec.Agents, spec.Seed)
}

// New is [Build] without overrides.
func New(graph, weights string, agents int, seed uint64, decode func(params any) error) (Schedule, error) {
	return Build(Spec{Graph: graph, Weights: weights, Agents: agents, Seed: seed}, decode)
}
