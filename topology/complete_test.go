package topology_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// A complete graph without rows answers as one with rows does. By hand: w_ij = 1/n with
// Metropolis weights, 1/(2n) with lazy ones, of which (n+1)/(2n) stays at the agent.
func TestCompleteWithoutRows(t *testing.T) {
	const n = 100
	for weights, self := range map[string]float64{"": 1. / n, "uniform": 1. / n, "max-degree": 1. / n,
		"lazy": (n + 1.) / (2 * n)} {
		w := 1. / n
		if weights == "lazy" {
			w = .5 / n
		}
		g := build(t, "complete", weights, n, "")
		var rows topology.Rows
		for _, i := range []agent.ID{0, 1, 2, 50, 49, 99, 98, 0, 99} {
			var want []agent.Neighbor
			for j := range agent.ID(n) {
				if j != i {
					want = append(want, agent.Neighbor{ID: j, Weight: w})
				}
			}
			if !slices.Equal(g.In(i), want) || !slices.Equal(g.Out(i), want) ||
				!slices.Equal(rows.In(g, i), want) || !slices.Equal(rows.Out(g, i), want) {
				t.Fatalf("%s: row %d differs", weights, i)
			}
			if g.Degree(i) != n-1 || g.OutDegree(i) != n-1 || g.Neighbor(i, 60) != want[60] ||
				math.Abs(g.SelfWeight(i)-self) > 1e-15 || g.Weight(i, (i+7)%n) != w {
				t.Errorf("%s: agent %d: degree %d, weights %v and %v", weights, i, g.Degree(i),
					g.SelfWeight(i), g.Weight(i, (i+7)%n))
			}
		}
		if g.Links() != n*(n-1)/2 || !g.Connected() || !g.DoublyStochastic() || !g.Symmetric() ||
			g.Directed() || g.Even() != (weights != "lazy") {
			t.Errorf("%s: %d links, connected %t, even %t", weights, g.Links(), g.Connected(), g.Even())
		}
		count := 0
		for e := range g.Edges() {
			if e.I >= e.J || e.Weight != w {
				t.Fatalf("%s: edge %+v", weights, e)
			}
			count++
		}
		if count != g.Links() {
			t.Errorf("%s: %d edges", weights, count)
		}
		info, err := topology.Analyze(g)
		want := 1 - 1.
		if weights == "lazy" {
			want = .5
		}
		if err != nil || !info.Computed || info.Fiedler != n || math.Abs(info.Lambda2-want) > 1e-15 ||
			info.DegreeMin != n-1 || info.DegreeMean != n-1 {
			t.Errorf("%s: %+v, %v", weights, info, err)
		}
	}
}

// Who is not in the graph is heard by nobody, and has no list of wakes.
func TestOutsideTheGraph(t *testing.T) {
	for _, name := range []string{"complete", "ring"} {
		s, err := topology.New(name, "", 65, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.At(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range [][2]agent.ID{{0, 1000}, {1000, 0}, {1000, 1000}, {0, 65}, {65, 66}} {
			if w := g.Weight(p[0], p[1]); w != 0 {
				t.Errorf("%s: weight %g of %v", name, w, p)
			}
		}
		var bad *config.Error
		if _, err := topology.NewRecording(nil, g, 65); !errors.As(err, &bad) || bad.Key != "self" {
			t.Errorf("%s: a recording of agent 65 of 65: %v", name, err)
		}
		if _, err := topology.NewRecording(nil, nil, 0); !errors.As(err, &bad) || bad.Key != "graph" {
			t.Errorf("a recording without graph: %v", err)
		}
	}
}

// All agents of a small complete graph have one weight too, on themselves as on others.
func TestEvenGraphs(t *testing.T) {
	for n := 2; n < 70; n++ {
		if g := build(t, "complete", "", n, ""); !g.Even() || g.SelfWeight(0) != 1/float64(n) {
			t.Errorf("%d agents: weight %v on itself", n, g.SelfWeight(0))
		}
	}
	if build(t, "ring", "", 10, "").Even() || build(t, "ring", "", 3, "").Even() != true {
		t.Error("a ring of 10 is even, or one of 3 is not")
	}
}

// Complete graphs with rows are bounded by the memory that rows take; 10,000 agents
// without them take next to none.
func TestMemoryOfCompleteGraphs(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := build(t, "complete", "", 10_000, "")
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
		t.Errorf("a complete graph of %d agents allocates %d bytes", g.Agents(), got)
	}
	_, err := topology.Build(topology.Spec{Graph: "complete", Agents: 10_000, Dropout: .5},
		func(any) error { return nil })
	if _, ok := err.(*config.Error); !ok {
		t.Errorf("50 million links that drop out: %v", err)
	}
}
