package topology_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// Six agents of exp-directed have three rounds with hops of 1, 2 and 4, and half of each agent's mass goes each time: the mean gives
// 1/6 to each hop and keeps 1/2. It is doubly stochastic.
func TestMeanOfAPeriod(t *testing.T) {
	s, err := topology.Build(topology.Spec{Graph: "exp-directed", Agents: 6}, params(""))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(topology.Period(s)); n != 3 {
		t.Fatalf("a period of %d rounds, want 3", n)
	}
	g, err := topology.Mean(s)
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

// A static schedule is its own mean; one whose links drop out has none.
func TestMeanOfOthers(t *testing.T) {
	s, err := topology.New("ring", "", 5, 1, params(""))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := s.At(0)
	if g, err := topology.Mean(s); err != nil || g != want {
		t.Errorf("%v, %v; want the ring itself", g, err)
	}
	if s, err = topology.Build(topology.Spec{Graph: "complete", Agents: 5, Dropout: .1, Seed: 3}, params("")); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := topology.Mean(s); !errors.As(err, &bad) || bad.Key != "dropout" {
		t.Errorf("dropout: %v", err)
	}
}
