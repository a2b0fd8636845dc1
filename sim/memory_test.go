package sim_test

import (
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// wide is a run of agents of an algorithm with its defaults on a graph of family, or
// family/weights, whose models have dim values.
func wide(t testing.TB, name, graph string, agents, dim, workers int, gate func(i int) sim.Gate) sim.Runtime {
	return wrapped(t, name, graph, agents, dim, workers, gate, func(a agent.Algorithm) agent.Algorithm {
		return a
	})
}

func wrapped(t testing.TB, name, graph string, agents, dim, workers int, gate func(i int) sim.Gate,
	wrap func(agent.Algorithm) agent.Algorithm) sim.Runtime {
	t.Helper()
	family, weights, _ := strings.Cut(graph, "/")
	schedule, err := topology.New(family, weights, agents, 1, func(p any) error {
		if er, ok := p.(*topology.ERParams); ok {
			er.P = .6
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := schedule.At(0)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := algo.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	factory, err := spec.New(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Schedule: schedule, Dim: dim, Steps: 50, Workers: workers}
	init := make(tensor.Vec, dim)
	for i := range agents {
		for k := range init {
			init[k] = float32(math.Sin(float64(i*dim + k)))
		}
		a, err := factory(agent.Env{Self: agent.ID(i), Agents: agents, Dim: dim, Rounds: 50, Init: init,
			Graph: agent.Graph{SLEM: .5, LambdaMin: -.5, MinNeighbors: len(g.In(0))}})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: wrap(a), Gate: gate(i)})
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bowl(i int) sim.Gate { return &slope{h: 1, b: float64(i), limit: 1 << 30} }

// How many vectors an agent holds in memory, and how many a checkpoint has: messages are
// not copied, and what is dead between rounds is not written.
func TestVectorsOfAnAgent(t *testing.T) {
	const agents, dim = 20, 100_000
	for name, want := range map[string]struct{ memory, written float64 }{
		"dsgd": {2, 1}, "dsgt": {5, 3}, "dinno": {6, 2}, "sgp": {3, 1}, "gossip-sgd": {3, 2}, "km": {2, 1},
	} {
		before := heap()
		s := wide(t, name, "ring", agents, dim, 1, bowl)
		run(t, s, 5)
		held := (heap() - before) / (agents * 4 * dim)
		// there is one answer for all, and what has no dimension
		if held > want.memory+.2 {
			t.Errorf("%s holds %.2f vectors an agent, want %g", name, held, want.memory)
		}
		var n counter
		if err := s.WriteState(&n); err != nil {
			t.Fatal(err)
		}
		if written := float64(n) / (agents * 4 * dim); written < want.written || written > want.written+.02 {
			t.Errorf("%s writes %.3f vectors an agent, want %g", name, written, want.written)
		}
		runtime.KeepAlive(s)
	}
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

var _ io.Writer = new(counter)

// Rounds of large models allocate no vectors.
func TestRoundsAllocateNoVectors(t *testing.T) {
	s := wide(t, "dsgd", "ring", 4, 100_000, 2, bowl)
	run(t, s, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(t, s, 23)
	runtime.ReadMemStats(&after)
	// A worker that comes late still has its vector to make.
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*4*100_000 {
		t.Errorf("20 rounds allocate %d bytes", got)
	}
}

// A checkpoint that is written while messages are lent goes on as if nothing had been.
func TestResumeOfLentMessages(t *testing.T) {
	for _, name := range []string{"dsgd", "dsgt", "dinno", "sgp", "gossip-sgd", "gossip-average", "km"} {
		whole, half, again := wide(t, name, "ring", 5, 40, 2, bowl), wide(t, name, "ring", 5, 40, 2, bowl),
			wide(t, name, "ring", 5, 40, 1, bowl)
		run(t, whole, 30)
		run(t, half, 11)
		if err := load(again, stateOf(half)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run(t, again, 30)
		if !slices.Equal(params(whole, 5), params(again, 5)) || stateOf(whole) != stateOf(again) {
			t.Errorf("%s: the resumed run differs", name)
		}
	}
}
