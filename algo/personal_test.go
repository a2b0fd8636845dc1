package algo_test

import (
	"context"
	"math"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/privacy"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// bowl is a private loss h/2 |θ - b|²: it answers its gradient, and its minimiser with a
// regulariser to "fit".
type bowl struct {
	h, b   float64
	limit  int // answers left
	asked  map[string]int
	factor []float64
}

func (*bowl) Begin(uint64, []agent.Neighbor) {}

func (g *bowl) Answer(q *agent.Query, dst tensor.Vec) error {
	if g.limit == 0 {
		return privacy.ErrExhausted
	}
	g.limit--
	g.asked[q.Oracle]++
	g.factor = append(g.factor, q.Noise)
	for k := range dst {
		b := g.b * float64(k+1)
		if q.Oracle == "fit" {
			dst[k] = float32(b)
		} else {
			dst[k] = float32(g.h * (float64(q.At[k]) - b))
		}
	}
	return nil
}

const personalAgents, personalDim = 12, 2

// weights are objective weights on a ring with chords, all different.
func weights(i, j int) float64 {
	if i > j {
		i, j = j, i
	}
	if j-i == 1 || j-i == personalAgents-1 || j-i == 5 {
		return .3 + float64(i*7+j)/20
	}
	return 0
}

func personalGraph(t *testing.T) *topology.Graph {
	t.Helper()
	rows := make([][]agent.Neighbor, personalAgents)
	for i := range rows {
		for j := range rows {
			if w := weights(i, j); i != j && w > 0 {
				rows[i] = append(rows[i], agent.Neighbor{ID: agent.ID(j), Weight: w})
			}
		}
	}
	g, err := topology.FromRows("test", make([]float64, personalAgents), rows)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func records(i int) int { return 10 + 3*i }

const maxRecords = 10 + 3*(personalAgents-1)

// personalConfig is an algorithm's agents, each with a bowl.
func personalConfig(t *testing.T, name string, wakes uint64, decode func(any) error) (sim.Config,
	[]*bowl) {
	t.Helper()
	f := factory(t, name, decode)
	cfg := sim.Config{
		Schedule: topology.Static(personalGraph(t)),
		Dim:      personalDim,
		Pacing:   algo.Algorithms[name].Pacing,
		Steps:    wakes,
		Workers:  1,
		Seed:     3,
	}
	var bowls []*bowl
	for i := range personalAgents {
		a, err := f(agent.Env{
			Self:       agent.ID(i),
			Agents:     personalAgents,
			Dim:        personalDim,
			Records:    records(i),
			MaxRecords: maxRecords,
			Rounds:     wakes,
			Init:       tensor.Vec{.5, -1},
		})
		if err != nil {
			t.Fatal(err)
		}
		b := &bowl{h: .1 + float64(i%4)/5, b: math.Sin(float64(i)), limit: 1 << 30, asked: map[string]int{}}
		bowls = append(bowls, b)
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: a, Gate: b})
	}
	return cfg, bowls
}

func newAsync(t *testing.T, cfg sim.Config) sim.Runtime {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func advance(t *testing.T, s sim.Runtime, until uint64) {
	t.Helper()
	if err := s.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
}

// personal runs an algorithm to its end.
func personal(t *testing.T, name string, wakes uint64, decode func(any) error) (sim.Runtime, []*bowl) {
	t.Helper()
	cfg, bowls := personalConfig(t, name, wakes, decode)
	s := newAsync(t, cfg)
	advance(t, s, wakes)
	return s, bowls
}
