package topology_test

import (
	"sync"
	"testing"

	"sotto/agent"
	"sotto/topology"
)

// Every round has the schedule's graph, whoever asks and in whatever order.
func TestRecent(t *testing.T) {
	const agents = 6
	spec := topology.Spec{Graph: "ring", Agents: agents, Dropout: .3, Window: 8}
	want := varying(t, spec, "")
	r := topology.Recent{Schedule: varying(t, spec, "")}
	check := func(round uint64, g *topology.Graph) {
		w, err := want.At(round)
		if err != nil {
			t.Error(err)
			return
		}
		for i := range agent.ID(agents) {
			for j := range agent.ID(agents) {
				if g.Weight(i, j) != w.Weight(i, j) {
					t.Errorf("round %d has another graph", round)
					return
				}
			}
		}
	}
	var all sync.WaitGroup
	for k := range uint64(4) {
		all.Go(func() {
			for step := range uint64(40) {
				round := (step*7 + k) % 11
				check(round, r.At(round))
				check(round, r.Make(round))
			}
		})
	}
	all.Wait()
	if g := r.At(5); r.At(5) != g {
		t.Error("a graph is made twice")
	}
}
