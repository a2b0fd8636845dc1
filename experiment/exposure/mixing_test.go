package exposure

import (
	"testing"

	"sotto/agent"
	"sotto/privacy/account/network"
	"sotto/topology"
)

func noParameters(any) error { return nil }

// Metropolis weights become the fractions they were rounded from, one matrix for all
// rounds; links that drop out make matrices of their own.
func TestMixing(t *testing.T) {
	s, err := topology.New("star", "", 7, 1, noParameters)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Mixing(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	if all[0] != all[2] || !all[0].Exact() {
		t.Errorf("matrices %p and %p, exact %v", all[0], all[2], all[0].Exact())
	}
	// The hub hears every leaf in the first round.
	g := network.Gossip{Agents: 7, Rounds: all}
	if v, err := g.View(network.Observer(0)); err != nil || v.Rank != 6 || v.Leak[4] != 1 {
		t.Errorf("view of the hub: %+v, %v", v, err)
	}
	lossy, err := topology.Build(topology.Spec{Graph: "complete", Agents: 7, Seed: 2, Dropout: .5},
		noParameters)
	if err != nil {
		t.Fatal(err)
	}
	if all, err = Mixing(lossy, 3); err != nil || all[0] == all[1] || !all[1].Exact() {
		t.Errorf("lossy links: %v, one matrix %v", err, all[0] == all[1])
	}
	// Weights that are no small fractions are known to rounding only.
	odd := []agent.Neighbor{{ID: 1, Weight: .1234567890123}}
	g2, err := topology.FromRows("odd", []float64{1 - odd[0].Weight, 1}, [][]agent.Neighbor{odd, nil})
	if err != nil {
		t.Fatal(err)
	}
	if all, err = Mixing(topology.Static(g2), 1); err != nil || all[0].Exact() {
		t.Errorf("odd weights: %v, exact %v", err, all[0].Exact())
	}
}
