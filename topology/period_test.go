package topology_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// Six agents of exp-directed have three rounds with hops of 1, 2 and 4, and half of each
// agent's mass goes each time: the mean gives 1/6 to each hop and keeps 1/2. It is doubly
// stochastic.
func TestUnionOfAPeriod(t *testing.T) {
	s, err := topology.Build(topology.Spec{Graph: "exp-directed", Agents: 6}, params(""))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(topology.Period(s)); n != 3 {
		t.Fatalf("a period of %d rounds, want 3", n)
	}
	g, err := topology.Union(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range agent.ID(6) {
		for j := range agent.ID(6) {
			want := map[agent.ID]float64{0: .5, 1: 1. / 6, 2: 1. / 6, 4: 1. / 6}[(i+6-j)%6]
			if got := g.Weight(i, j); math.Abs(got-want) > 1e-15 {
				t.Errorf("weight of %d on %d is %v, want %v", i, j, got, want)
			}
		}
	}
	if err := topology.Validate(g, topology.Claims{DoublyStochastic: true, Connected: true}); err != nil {
		t.Error(err)
	}
}

// A static schedule is its own whole. Where chance draws links, the whole has all of
// them: a ring of five has Metropolis weights 1/3 on them, whether they drop out or wake
// in pairs, and of six agents of exp-directed each sends over three hops and its whole is
// the mean of TestUnionOfAPeriod.
func TestUnionOfOthers(t *testing.T) {
	s, err := topology.New("ring", "", 5, 1, params(""))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := s.At(0)
	if g, err := topology.Union(s); err != nil || g != want {
		t.Errorf("%v, %v; want the ring itself", g, err)
	}
	for name, c := range map[string]struct {
		spec   topology.Spec
		weight float64 // of each link
		out    int     // links of each agent
		mutual bool
	}{
		"pairs":   {topology.Spec{Graph: "ring", Agents: 5, Pairwise: true, Seed: 3}, 1. / 3, 2, true},
		"dropout": {topology.Spec{Graph: "ring", Agents: 5, Dropout: .3, Seed: 3}, 1. / 3, 2, true},
		"directed": {topology.Spec{Graph: "exp-directed", Agents: 6, Dropout: .3, Seed: 3, Push: true},
			1. / 6, 3, false},
		"columns": {topology.Spec{
			Graph:   "ring",
			Weights: "column",
			Agents:  5,
			Dropout: .3,
			Seed:    3,
			Push:    true,
		}, 1. / 3, 2, false},
		"period": {topology.Spec{Graph: "exp-directed", Agents: 6}, 1. / 6, 3, false},
	} {
		s, err := topology.Build(c.spec, params(""))
		if err != nil {
			t.Fatal(err)
		}
		g, err := topology.Union(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if topology.Mutual(s) != c.mutual || (topology.Period(s) == nil) != (name != "period") {
			t.Errorf("%s: mutual %t, period %d", name, topology.Mutual(s), len(topology.Period(s)))
		}
		for i := range agent.ID(g.Agents()) {
			if len(g.Out(i)) != c.out {
				t.Errorf("%s: agent %d sends to %d, want %d", name, i, len(g.Out(i)), c.out)
			}
			for _, nb := range g.Out(i) {
				if math.Abs(nb.Weight-c.weight) > 1e-15 {
					t.Errorf("%s: weight of %d on %d is %v, want %v", name, nb.ID, i, nb.Weight, c.weight)
				}
			}
		}
	}
}

// Uniform weights are doubly stochastic as long as no link of a complete graph is
// missing. Rounds that fill no window are looked at, too: the first round without a link,
// by At, is found by Build whatever the number of rounds.
func TestEveryRoundOfDropoutHasWeights(t *testing.T) {
	build := func(rounds uint64) error {
		_, err := topology.Build(topology.Spec{
			Graph:   "complete",
			Weights: "uniform",
			Agents:  4,
			Dropout: .005,
			Seed:    5,
			Window:  10,
			Rounds:  rounds,
		}, params(""))
		return err
	}
	first := uint64(1)
	for ; first < 1000 && build(first) == nil; first++ {
	}
	if first <= 10 || first == 1000 || first%10 == 1 {
		t.Fatalf("a run of %d rounds is the first refused: another seed is needed", first)
	}
	for rounds := first; rounds < first+30; rounds++ {
		var bad *config.Error
		if err := build(rounds); !errors.As(err, &bad) {
			t.Errorf("%d rounds: %v", rounds, err)
		}
	}
}
