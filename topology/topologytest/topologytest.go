// Package topologytest checks that a topology.Schedule keeps the contract that runtimes
// and algorithms rely on.
package topologytest

import (
	"encoding/json"
	"math"
	"reflect"
	"sync"
	"testing"

	"sotto/agent"
	"sotto/topology"
)

const rounds = 8

// Run checks the schedules that build returns, over the first eight rounds: the same
// graphs from two builds, from two reads and from concurrent reads; a fixed number of
// agents; rows and columns that are sorted, hold no agent twice and agree with each
// other; a matrix whose rows or columns sum to 1; a union of the rounds that connects all
// agents; and graphs that survive JSON. It fails t through t.Error. Schedules whose
// matrix is not doubly stochastic pass if their rows are valid: the claim is
// topology.Validate's.
func Run(t *testing.T, build func() topology.Schedule) {
	t.Helper()
	s, again := build(), build()
	graphs := make([]*topology.Graph, rounds)
	for k := range graphs {
		g, err := s.At(uint64(k))
		if err != nil {
			t.Fatalf("round %d: %v", k, err)
		}
		graphs[k] = g
		if g.Agents() != graphs[0].Agents() {
			t.Fatalf("round %d has %d agents, round 0 has %d", k, g.Agents(), graphs[0].Agents())
		}
		twin, err := again.At(uint64(k))
		if err != nil {
			t.Fatalf("round %d of a second build: %v", k, err)
		}
		if !reflect.DeepEqual(g, twin) {
			t.Errorf("round %d differs between two builds", k)
		}
		rows(t, g)
		roundTrip(t, g)
		if err := topology.Validate(g, topology.Claims{}); err != nil &&
			topology.Validate(g, topology.Claims{ColumnStochastic: true}) != nil {
			t.Errorf("round %d: %v; nor do columns", k, err)
		}
	}
	union(t, graphs)
	reread(t, s, graphs)
}

// rows checks that In and Out are sorted, in range and transposes of each other.
func rows(t *testing.T, g *topology.Graph) {
	t.Helper()
	n := g.Agents()
	entries := 0
	for i := range n {
		id := agent.ID(i)
		for _, side := range [][]agent.Neighbor{g.In(id), g.Out(id)} {
			for k, nb := range side {
				if int(nb.ID) >= n || nb.ID == id || k > 0 && side[k-1].ID >= nb.ID {
					t.Errorf("neighbors of agent %d are not sorted, distinct others: %v", i, side)
					return
				}
			}
		}
		for _, nb := range g.Out(id) {
			if got := g.Weight(nb.ID, id); got != nb.Weight {
				t.Errorf("Out(%d) says w[%d][%d] = %v, In says %v", i, nb.ID, i, nb.Weight, got)
			}
		}
		entries += len(g.In(id)) - len(g.Out(id))
		if g.Degree(id) != len(g.In(id)) {
			t.Errorf("Degree(%d) = %d, want %d", i, g.Degree(id), len(g.In(id)))
		}
		if w := g.Weight(id, id); w != g.SelfWeight(id) {
			t.Errorf("Weight(%d, %d) = %v, want %v", i, i, w, g.SelfWeight(id))
		}
	}
	if entries != 0 {
		t.Errorf("rows hold %d entries more than columns", entries)
	}
	if g.DoublyStochastic() {
		keepsMean(t, g)
	}
}

// keepsMean mixes one vector: a doubly stochastic matrix keeps its sum and never widens
// its range.
func keepsMean(t *testing.T, g *topology.Graph) {
	t.Helper()
	n := g.Agents()
	var before, after float64
	for i := range n {
		x := func(j agent.ID) float64 { return math.Sin(float64(j) + 1) }
		y := g.SelfWeight(agent.ID(i)) * x(agent.ID(i))
		for _, nb := range g.In(agent.ID(i)) {
			y += nb.Weight * x(nb.ID)
		}
		if math.Abs(y) > 1 {
			t.Errorf("mixing leaves [-1, 1] at agent %d: %v", i, y)
		}
		before += x(agent.ID(i))
		after += y
	}
	if math.Abs(before-after) > 1e-11*float64(n) {
		t.Errorf("mixing moves the sum from %v to %v", before, after)
	}
}

func roundTrip(t *testing.T, g *topology.Graph) {
	t.Helper()
	b, err := json.Marshal(g)
	if err != nil {
		t.Errorf("marshal: %v", err)
		return
	}
	var back topology.Graph
	if err := json.Unmarshal(b, &back); err != nil {
		t.Errorf("unmarshal: %v", err)
		return
	}
	for i := range g.Agents() {
		id := agent.ID(i)
		if g.SelfWeight(id) != back.SelfWeight(id) || len(g.In(id)) != len(back.In(id)) {
			t.Errorf("row %d changes in a JSON round trip", i)
			return
		}
		for k, nb := range g.In(id) {
			if back.In(id)[k] != nb {
				t.Errorf("row %d changes in a JSON round trip: %v, want %v", i, back.In(id)[k], nb)
				return
			}
		}
	}
}

// union checks joint connectivity: links of all rounds, with repetition, reach everyone
// from agent 0 in both directions.
func union(t *testing.T, graphs []*topology.Graph) {
	t.Helper()
	sides := map[string]func(*topology.Graph, agent.ID) []agent.Neighbor{
		"is heard by": (*topology.Graph).Out, "hears": (*topology.Graph).In,
	}
	n := graphs[0].Agents()
	for name, side := range sides {
		seen := make([]bool, n)
		seen[0] = true
		count := 1
		for queue := []agent.ID{0}; len(queue) > 0; queue = queue[1:] {
			for _, g := range graphs {
				for _, nb := range side(g, queue[0]) {
					if !seen[nb.ID] {
						seen[nb.ID] = true
						count++
						queue = append(queue, nb.ID)
					}
				}
			}
		}
		if count != n {
			t.Errorf("agent 0 %s only %d of %d agents within %d rounds", name, count-1, n-1, len(graphs))
		}
	}
}

// reread asks again, out of order and from several goroutines.
func reread(t *testing.T, s topology.Schedule, graphs []*topology.Graph) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for k := range graphs {
				round := (k*3 + w) % len(graphs)
				g, err := s.At(uint64(round))
				if err != nil || !reflect.DeepEqual(g, graphs[round]) {
					t.Errorf("round %d differs when it is read again (%v)", round, err)
				}
			}
		})
	}
	wg.Wait()
}
