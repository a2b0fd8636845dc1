package dkm

import (
	"context"
	"math"

	"sotto/agent"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/reproduce"
	"sotto/sim"
	"sotto/topology"
)

// theoremsBase is the iteration from zero, with every record in every round.
const theoremsBase = `
name = "seed003-theorems"

[data]
partition = "natural"

[algorithm]
name = "km"

[privacy]
adjacency = "replace-one"
sample_rate = 1.0
accountant = "gdp"
`

// build makes an experiment of theoremAgents agents from further settings.
func (size theoremsSize) build(seed uint64, rounds int, settings ...string) (*experiment.Experiment, error) {
	set := reproduce.Setter(&settings)
	set("seed=%d", seed)
	set("rounds=%d", rounds)
	set("topology.agents=%d", theoremAgents)
	set("data.agents=%d", theoremAgents)
	set("data.records=%d", size.records)
	set("data.dim=%d", theoremDim)
	set("data.test=%d", 20*size.records)
	return reproduce.Build(theoremsBase, settings, "")
}

// mean runs an experiment with draws and noise of a seed, and returns the mean of all
// agents' models. Where only is set agent 0 has nothing but its first record.
func mean(ctx context.Context, e *experiment.Experiment, seed uint64, only bool) ([]float64, error) {
	clear(e.Task.Init)
	var agents []sim.Agent
	for i := range theoremAgents {
		rows := e.Task.Parts[i]
		if only && i == 0 {
			rows = rows[:1]
		}
		p, err := e.Party(experiment.Seat{
			Self:    agent.ID(i),
			Records: oracle.Records{Data: e.Task.Split.Train, Index: rows},
			Ledger:  ledger.NewMemory(nil),
			Keys:    privacy.SimulatedKeys(seed),
		})
		if err != nil {
			return nil, err
		}
		agents = append(agents, sim.Agent{Algorithm: p.Algorithm, Gate: p.Gate})
	}
	s, err := run.NewRuntime(e, agents, seed, 1)
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, e.File.Steps); err != nil {
		return nil, err
	}
	mean := make([]float64, e.Task.Model.Dim())
	for i := range theoremAgents {
		for c, x := range s.Model(i) {
			mean[c] += float64(x) / theoremAgents
		}
	}
	return mean, nil
}

// mixing is a graph of theoremAgents agents, and the second largest absolute eigenvalue
// of its matrix.
func mixing(name string) (*topology.Graph, float64, error) {
	s, err := topology.New(name, "", theoremAgents, 1, func(any) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	g, err := s.At(0)
	if err != nil {
		return nil, 0, err
	}
	info, err := topology.Analyze(g)
	return g, max(math.Abs(info.Lambda2), math.Abs(info.LambdaN)), err
}
