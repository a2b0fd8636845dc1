package cli

import (
	"github.com/spf13/cobra"

	"sotto/topology"
)

// GraphFlags say which graph of a family to build.
type GraphFlags struct {
	Agents  int
	Weights string
	Seed    uint64
	Dropout float64
	Round   uint64
	Pairs   bool // in every round one random agent averages with one neighbor
	Set     []string
}

// Register adds the flags.
func (f *GraphFlags) Register(c *cobra.Command) {
	fl := c.Flags()
	fl.IntVar(&f.Agents, "agents", 10, "number of agents")
	fl.StringVar(&f.Weights, "weights", "", "metropolis, uniform, lazy, max-degree, or column for push-sum")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of random graphs")
	fl.Float64Var(&f.Dropout, "dropout", 0, "probability that a link is missing from a round")
	fl.Uint64Var(&f.Round, "round", 0, "round to show, from 0, if the graph changes from round to round")
	fl.StringArrayVar(&f.Set, "set", nil, "parameter of the graph, key=value (repeatable)")
}

// Build returns the schedule and the graph of the round. Directed graphs and column
// weights are those of push-sum.
func (f *GraphFlags) Build(family string) (topology.Schedule, *topology.Graph, error) {
	_, directed := topology.Digraphs[family]
	spec := topology.Spec{
		Graph:    family,
		Weights:  f.Weights,
		Agents:   f.Agents,
		Seed:     f.Seed,
		Push:     directed || f.Weights == "column",
		Dropout:  f.Dropout,
		Pairwise: f.Pairs,
	}
	schedule, err := topology.Build(spec, DecodeSettings(f.Set))
	if err != nil {
		return nil, nil, err
	}
	g, err := schedule.At(f.Round)
	return schedule, g, err
}
