package nodetest

import (
	"context"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// hopSeed is that of the tokens' hops.
const hopSeed = 78

// holders says where tokens start in package sim: with the number that nobody has, each
// by its own.
func (w *World) holders() []agent.ID {
	if w.o.Tokens == 0 {
		return nil
	}
	all := make([]agent.ID, w.o.Tokens)
	for k := range all {
		all[k] = agent.ID(choice(^agent.ID(0), uint64(k)).Below(uint64(w.o.Agents)))
	}
	return all
}

// choice is the stream of a simulated agent's visit.
func choice(i agent.ID, visit uint64) *rng.Stream {
	key := rng.Simulated(hopSeed, uint32(i), visit)
	return rng.NewStream(&key, rng.Choice)
}

// Simulate returns every agent's parameters and number of charges after the run in
// package sim.
func (w *World) Simulate(t testing.TB) (params []tensor.Vec, charges []uint64) {
	t.Helper()
	var (
		ledgers []*ledger.Memory
		agents  []sim.Agent
	)
	for i := range w.o.Agents {
		l := ledger.NewMemory(w.Filter(t))
		ledgers = append(ledgers, l)
		agents = append(agents, sim.Agent{Algorithm: w.Algorithm(t, i), Gate: w.Gate(i, l)})
	}
	var s interface {
		Run(ctx context.Context, until uint64) error
		Params(i int) tensor.Vec
	}
	var err error
	if w.o.Tokens > 0 {
		return w.simulateTokens(t, agents, ledgers)
	}
	if w.o.Wakes > 0 {
		s, err = sim.NewAsync(sim.AsyncConfig{
			Agents:  agents,
			Graph:   w.Graph,
			Dim:     Dim,
			Wakes:   w.o.Wakes,
			Workers: 1,
			Replay:  w.wakes,
		})
	} else {
		s, err = sim.New(sim.Config{
			Agents:   agents,
			Schedule: w.Graphs,
			Dim:      w.dim(),
			Rounds:   w.o.Rounds,
			Workers:  1,
		})
	}
	if err == nil {
		err = s.Run(context.Background(), max(w.o.Rounds, w.o.Wakes))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.o.Agents {
		params = append(params, slices.Clone(s.Params(i)))
		charges = append(charges, ledgers[i].Head().Seq)
	}
	return params, charges
}

// simulateTokens returns the parameters as they left each agent last.
func (w *World) simulateTokens(t testing.TB, agents []sim.Agent,
	ledgers []*ledger.Memory) (params []tensor.Vec, charges []uint64) {
	t.Helper()
	s, err := sim.NewTokens(sim.TokenConfig{
		Agents:  agents,
		Graph:   w.Graph,
		Dim:     Dim,
		Init:    w.initial(),
		Tokens:  w.o.Tokens,
		Steps:   w.o.Rounds,
		Workers: 1,
		Secret:  hopSeed,
		Faults:  sim.DefaultFaults(),
	})
	if err == nil {
		err = s.Run(context.Background(), w.o.Rounds)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		params = append(params, slices.Clone(agents[i].Algorithm.Params()))
		charges = append(charges, ledgers[i].Head().Seq)
	}
	return params, charges
}
