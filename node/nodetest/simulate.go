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
	cfg := sim.Config{
		Agents:   agents,
		Schedule: w.Graphs,
		Dim:      w.dim(),
		Steps:    w.o.Rounds,
		Workers:  1,
		Faults:   sim.DefaultFaults(),
	}
	switch {
	case w.o.Tokens > 0:
		cfg.Pacing = agent.PacingTokens
		cfg.Tokens = sim.TokenOptions{Count: w.o.Tokens, Init: w.initial(), Secret: hopSeed}
	case w.o.Wakes > 0:
		cfg.Pacing, cfg.Steps, cfg.Replay = agent.PacingWakes, w.o.Wakes, w.wakes
	}
	s, err := sim.New(cfg)
	if err == nil {
		err = s.Run(context.Background(), cfg.Steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range agents { // where tokens walk: as they left each agent last
		params = append(params, slices.Clone(agents[i].Algorithm.Params()))
		charges = append(charges, ledgers[i].Head().Seq)
	}
	return params, charges
}
