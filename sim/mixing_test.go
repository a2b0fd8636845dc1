package sim_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/sim"
	"sotto/tensor"
)

// alone hides that an algorithm leaves its sums, or its messages, to the runtime.
type alone struct{ agent.Algorithm }

// spike is bowl whose answers at agent 3 are not finite from the third on.
func spike(i int) sim.Gate {
	g := &slope{h: 1, b: float64(i), limit: 1 << 30}
	if i != 3 {
		return g
	}
	return &burst{slope: g}
}

type burst struct {
	*slope
	asked int
}

func (b *burst) Answer(q *agent.Query, dst tensor.Vec) error {
	err := b.slope.Answer(q, dst)
	if b.asked++; b.asked > 2 {
		dst[len(dst)/2] = float32(math.Inf(1))
	}
	return err
}

func hidden(a agent.Algorithm) agent.Algorithm { return alone{a} }

// Sums that the runtime forms for all agents at once have the bits of those that the
// agents form one by one, on even, dense and sparse graphs, for small and large models,
// finite or not.
func TestSumsOfAllAgents(t *testing.T) {
	for _, c := range []struct {
		graph       string
		agents, dim int
	}{
		{"complete", 10, 5}, {"complete", 70, 300}, {"complete/lazy", 30, 517}, {"complete/lazy", 70, 64},
		{"er", 61, 131}, {"er", 61, 5000}, {"ring", 5, 70_001},
	} {
		for _, gate := range []func(int) sim.Gate{bowl, spike} {
			for _, name := range []string{"dsgd", "dsgt", "gossip-sgd"} {
				one := wrapped(t, name, c.graph, c.agents, c.dim, 1, gate, hidden)
				run(t, one, 6)
				for _, workers := range []int{1, 3} {
					all := wide(t, name, c.graph, c.agents, c.dim, workers, gate)
					run(t, all, 6)
					sameBits(t, name+" on "+c.graph, one, all, c.agents)
				}
			}
		}
	}
}

func sameBits(t *testing.T, what string, a, b sim.Runtime, agents int) {
	t.Helper()
	for i := range agents {
		x, y := a.Model(i), b.Model(i)
		for k := range x {
			if math.Float32bits(x[k]) != math.Float32bits(y[k]) && (x[k] == x[k] || y[k] == y[k]) {
				t.Errorf("%s: agent %d, value %d: %v alone, %v together", what, i, k, x[k], y[k])
				return
			}
		}
	}
}
