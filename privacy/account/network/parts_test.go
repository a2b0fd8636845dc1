package network_test

import (
	"testing"

	"sotto/privacy/account/network"
)

// Against any one other agent the only one there is has its own noise, not infinitely
// much, and what is no number of agents is an error.
func TestDecorOfOne(t *testing.T) {
	all, err := network.Decor{Agents: 1, Own: .25, Pair: 1}.AgainstAnyOne()
	if err != nil || len(all) != 1 || all[0] != .25 {
		t.Errorf("%v, %v", all, err)
	}
	for _, n := range []int{-1, 0, 1 << 40} {
		if all, err := (network.Decor{Agents: n, Own: .25}).AgainstAnyOne(); err == nil {
			t.Errorf("%d agents: %d multipliers", n, len(all))
		}
	}
}

// As many contributions as wrap around are not none.
func TestWalkOfManyVisits(t *testing.T) {
	third := network.Fraction(1, 3)
	hops, err := network.NewMatrix([]network.Row{
		{Agent: 0, Self: third, In: []network.Link{{1, third}, {2, third}}},
		{Agent: 1, Self: third, In: []network.Link{{0, third}, {2, third}}},
		{Agent: 2, Self: third, In: []network.Link{{0, third}, {1, third}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := network.WalkMixture{Agents: 3, Hops: hops, Steps: 8, Visits: 1 << 33, LocalSteps: 1 << 31, Mu: 1e-9,
		Conditions:  network.Conditions{Convex: true, Smoothness: 1, StepSize: 1, SecretHops: true},
		Contraction: 1}
	if eps, err := w.Pairs([][2]int{{0, 1}}, 1e-5); err == nil && !(eps[0] > 1) {
		t.Errorf("epsilon %v of 2^64 updates of mu 1e-9", eps)
	}
}

// What a program forgot, or sets out of range, is an error with its name.
func TestForgottenParts(t *testing.T) {
	g := network.Gossip{Agents: 2, Rounds: []*network.Matrix{nil}}
	if _, err := g.View(network.Observer(0)); err == nil {
		t.Error("a round without a matrix")
	}
	w := network.WalkMixture{Agents: 3, Steps: 8, Visits: 1, LocalSteps: 1, Mu: 1, Contraction: 1,
		Conditions: network.Conditions{Convex: true, Smoothness: 1, StepSize: 1, SecretHops: true}}
	if _, err := w.Pairs([][2]int{{0, 1}}, 1e-5); err == nil {
		t.Error("a walk without hops")
	}
	training := network.Training{Gossip: network.Gossip{Agents: 4}, Steps: 1 << 62}
	if _, err := training.View(network.Observer(0)); err == nil {
		t.Error("2^62 steps of training")
	}
}
