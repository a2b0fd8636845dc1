package topology_test

import (
	"math"
	"reflect"
	"testing"

	"sotto/agent"
	"sotto/topology"
)

// Every round after the first has one pair of neighbors with weights 1/2, doubly
// stochastic, the same whoever asks. A wakes with probability 1/n and takes B with
// 1/degree(A), so that a pair wakes with probability (1/d_A + 1/d_B)/n: the counts of
// 20,000 rounds on a path of four have chi square over 2 degrees, false reject rate 1e-6
// at 27.6.
func TestPairwise(t *testing.T) {
	build := func() topology.Schedule {
		s, err := topology.Build(topology.Spec{Graph: "path", Agents: 4, Seed: 5, Pairwise: true},
			func(any) error {
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, again := build(), build()
	whole, err := s.At(0)
	if err != nil || whole.Links() != 3 || !whole.Connected() {
		t.Fatalf("round 0 has %d links, %v", whole.Links(), err)
	}
	const rounds = 20000
	counts := map[agent.ID]float64{}
	for k := uint64(1); k <= rounds; k++ {
		g, err := s.At(k)
		if err != nil || g.Links() != 1 || !g.DoublyStochastic() {
			t.Fatalf("round %d: %d links, %v", k, g.Links(), err)
		}
		for e := range g.Edges() {
			if e.Weight != .5 || g.SelfWeight(e.I) != .5 || whole.Weight(e.I, e.J) == 0 {
				t.Fatalf("round %d: %v", k, e)
			}
			counts[e.I]++
			rows := make([][]agent.Neighbor, 4)
			rows[e.I], rows[e.J] = []agent.Neighbor{{ID: e.J, Weight: .5}},
				[]agent.Neighbor{{ID: e.I, Weight: .5}}
			self := []float64{1, 1, 1, 1}
			self[e.I], self[e.J] = .5, .5
			if want, err := topology.FromRows("path", self, rows); k < 50 &&
				(err != nil || !reflect.DeepEqual(g, want)) {
				t.Fatalf("round %d is %+v, want %+v, %v", k, g, want, err)
			}
			if twin, _ := again.At(k); twin.Weight(e.I, e.J) != .5 {
				t.Fatalf("round %d is another for who asks again", k)
			}
		}
	}
	chi := 0.
	for i, p := range []float64{1.5 / 4, 1. / 4, 1.5 / 4} {
		chi += math.Pow(counts[agent.ID(i)]-p*rounds, 2) / (p * rounds)
	}
	if chi > 27.6 {
		t.Errorf("pairs wake %v times, chi square %v", counts, chi)
	}
	for name, spec := range map[string]topology.Spec{
		"dropout":  {Graph: "ring", Agents: 5, Pairwise: true, Dropout: .1},
		"directed": {Graph: "exp-directed", Agents: 5, Pairwise: true},
		"alone":    {Graph: "complete", Agents: 1, Pairwise: true},
	} {
		if _, err := topology.Build(spec, func(any) error { return nil }); err == nil {
			t.Errorf("%s is admitted", name)
		}
	}
}
