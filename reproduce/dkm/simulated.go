package dkm

import (
	"context"
	"math"
	"sotto/agent"
	"sotto/algo"
	"sotto/data"
	"sotto/experiment/plan"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// simulated is what a simulation of the iteration consists of.
type simulated struct {
	schedule  topology.Schedule
	info      topology.Info
	model     model.Model
	train     *data.Dataset
	records   int
	rounds    int
	seed      uint64
	only      bool // agent 0 draws nothing but record 0
	published bool
	noise     float64 // multiplier of the sound form
	edit      func(*algo.KMParams)
	clip      float64
}

func newNetwork(graph string) (simulated, error) {
	n := simulated{clip: math.Inf(1)}
	var err error
	if n.schedule, err = topology.New(graph, "", theoremAgents, 1, func(any) error {
		return nil
	}); err != nil {
		return n, err
	}
	g, err := n.schedule.At(0)
	if err != nil {
		return n, err
	}
	n.info, err = topology.Analyze(g)
	return n, err
}

// mean runs the iteration and returns the mean of all agents' models.
func (n *simulated) mean(ctx context.Context) ([]float64, error) {
	factory, err := algo.New("km", func(p any) error { n.edit(p.(*algo.KMParams)); return nil })
	if err != nil {
		return nil, err
	}
	mechanism, err := privacy.NewMechanism("none", 0)
	if n.noise > 0 {
		mechanism, err = privacy.NewMechanism("gaussian", n.noise)
	}
	if err != nil {
		return nil, err
	}
	dim := n.model.Dim()
	cfg := sim.Config{Schedule: n.schedule, Dim: dim, Steps: uint64(n.rounds), Workers: 1, Seed: n.seed}
	for i := range theoremAgents {
		env := agent.Env{
			Self:   agent.ID(i),
			Agents: theoremAgents,
			Dim:    dim,
			Rounds: uint64(n.rounds),
			Init:   make(tensor.Vec, dim),
			Graph:  agent.Graph{LambdaMin: n.info.LambdaN},
		}
		a, err := factory(env)
		if err != nil {
			return nil, err
		}
		oracles, err := n.oracles(i, factory, env)
		if err != nil {
			return nil, err
		}
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: a,
			Gate: privacy.NewSimulatedGate(ledger.NewMemory(nil), mechanism, oracles, n.seed, agent.ID(i))})
	}
	s, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, uint64(n.rounds)); err != nil {
		return nil, err
	}
	mean := make([]float64, dim)
	for i := range theoremAgents {
		for c, x := range s.Model(i) {
			mean[c] += float64(x) / theoremAgents
		}
	}
	return mean, nil
}

// oracles are those that the agent asks, over its records.
func (n *simulated) oracles(i int, f agent.Factory, env agent.Env) (map[string]privacy.Oracle, error) {
	asks, err := plan.Rehearse(f, env, plan.Life{Steps: 1, View: &agent.View{SelfWeight: 1}})
	if err != nil {
		return nil, err
	}
	o, err := oracle.New(&oracle.Public{
		Model:             n.model,
		SampleRate:        1,
		ExpectedBatchSize: float64(n.records),
		ClipNorm:          n.clip,
		Adjacency:         account.ReplaceOne,
		Unit:              account.Record(),
		Residual:          1,
		Init:              make(tensor.Vec, n.model.Dim()),
		Published:         n.published,
		OneRecord:         n.published,
	}, &asks[0].Query)
	if err != nil {
		return nil, err
	}
	own := oracle.Records{Data: n.train}
	for r := range n.records {
		own.Index = append(own.Index, int32(i*n.records+r))
	}
	if n.only && i == 0 {
		own.Index = own.Index[:1]
	}
	return map[string]privacy.Oracle{asks[0].Query.Oracle: o}, o.Bind(own, nil)
}

// generated makes a data set of size.records records for each of theoremAgents agents.
func generated(name string, size theoremsSize, seed uint64) (*data.Split, error) {
	return data.Load(name, "", seed, func(p any) error {
		*p.(*data.LeastSquaresParams) = data.LeastSquaresParams{
			Agents:  theoremAgents,
			Records: size.records,
			Dim:     theoremDim,
			Test:    20 * size.records,
		}
		return nil
	})
}
