package topology_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
	"sotto/topology/topologytest"
)

func varying(t *testing.T, spec topology.Spec, text string) topology.Schedule {
	t.Helper()
	s, err := topology.Build(spec, params(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDirectedConformance(t *testing.T) {
	text := map[string]string{"directed-file": "path = 'testdata/irregular.txt'"}
	for name := range topology.Digraphs {
		t.Run(name, func(t *testing.T) {
			topologytest.Run(t, func() topology.Schedule {
				return varying(t, topology.Spec{Graph: name, Agents: 5, Push: true}, text[name])
			})
		})
	}
	for _, spec := range []topology.Spec{
		{Graph: "ring", Dropout: .2, Window: 8},
		{Graph: "ring", Dropout: .2, Window: 8, Weights: "column", Push: true},
		{Graph: "exp-directed", Dropout: .2, Window: 8, Push: true},
	} {
		spec.Agents, spec.Seed = 10, 3
		t.Run(fmt.Sprintf("%s %s dropout", spec.Graph, spec.Weights), func(t *testing.T) {
			topologytest.Run(t, func() topology.Schedule { return varying(t, spec, "") })
		})
	}
}

func at(t *testing.T, s topology.Schedule, round uint64) *topology.Graph {
	t.Helper()
	g, err := s.At(round)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Who hears whom on the exponential graphs of 6 agents: hops of 1, 2 and 4, then 1 again;
// thirds with two peers.
func TestExponentialGraphs(t *testing.T) {
	one := varying(t, topology.Spec{Graph: "exp-directed", Agents: 6}, "")
	two := varying(t, topology.Spec{Graph: "exp-directed-2", Agents: 6}, "")
	for k, hop := range []int{1, 2, 4, 1} {
		for r := range 6 {
			g, to := at(t, one, uint64(k)), agent.ID((r+hop)%6)
			if len(g.Out(agent.ID(r))) != 1 || g.Weight(to, agent.ID(r)) != .5 ||
				g.SelfWeight(agent.ID(r)) != .5 {
				t.Errorf("round %d: agent %d sends to %v and keeps %v, want half to %d", k, r,
					g.Out(agent.ID(r)), g.SelfWeight(agent.ID(r)), to)
			}
			h := at(t, two, uint64(k))
			for _, to := range []int{(r + hop) % 6, (r + 6 - hop) % 6} {
				if w := h.Weight(agent.ID(to), agent.ID(r)); math.Abs(w-1./3) > 1e-15 {
					t.Errorf("two peers, round %d: agent %d gives %v to %d, want a third", k, r, w, to)
				}
			}
		}
	}
	// Hops of 2 among 4 agents meet: one receiver, half of the mass.
	if g := at(t, varying(t, topology.Spec{Graph: "exp-directed-2", Agents: 4}, ""), 1); len(g.Out(0)) != 1 ||
		g.SelfWeight(0) != .5 {
		t.Errorf("hops that meet: %v, self %v", g.Out(0), g.SelfWeight(0))
	}
}

// The exponential graph of 4 agents with agent 0 as a hub. Round 0, hops of 1: 0 and 3
// have one receiver, 1 and 2 have two. Column weights by hand; the first row sums to
// 1/2 + 1/3 + 1/3 + 1/2 and the third to 1/3 + 1/3. Plain averaging refuses it.
func TestExponentialHub(t *testing.T) {
	g := at(t, varying(t, topology.Spec{Graph: "exp-directed-hub", Agents: 4, Push: true}, ""), 0)
	want := [4][4]float64{{1. / 2, 1. / 3, 1. / 3, 1. / 2}, {1. / 2, 1. / 3, 0, 0}, {0, 1. / 3, 1. / 3, 0},
		{0, 0, 1. / 3, 1. / 2}}
	for i := range want {
		for j, w := range want[i] {
			got := g.SelfWeight(agent.ID(i))
			if i != j {
				got = g.Weight(agent.ID(i), agent.ID(j))
			}
			if math.Abs(got-w) > 1e-15 {
				t.Errorf("P_%d%d = %v, want %v", i, j, got, w)
			}
		}
	}
	if g.DoublyStochastic() {
		t.Error("it is doubly stochastic")
	}
	var bad *config.Error
	_, err := topology.Build(topology.Spec{Graph: "exp-directed-hub", Agents: 4}, params(""))
	if !errors.As(err, &bad) || !strings.Contains(bad.Allowed, "sgp") {
		t.Errorf("plain averaging on it: %v", err)
	}
}

// Averages of one round after the other on the exponential graph, from e_0: 16 agents
// average exactly in 4 rounds; of 20 the furthest is .01875 off after 5 (reference
// figures of the algorithm's specification).
func TestExponentialGraphAverages(t *testing.T) {
	for _, c := range []struct {
		agents, rounds int
		want           float64
	}{{16, 4, 0}, {20, 5, .01875}} {
		s := varying(t, topology.Spec{Graph: "exp-directed", Agents: c.agents}, "")
		x := make([]float64, c.agents)
		x[0] = 1
		for k := range c.rounds {
			x = mixOnce(at(t, s, uint64(k)), x)
		}
		worst := 0.
		for _, v := range x {
			worst = max(worst, math.Abs(v-1/float64(c.agents)))
		}
		if math.Abs(worst-c.want) > 1e-15 {
			t.Errorf("%d agents, %d rounds: furthest %v, want %v", c.agents, c.rounds, worst, c.want)
		}
	}
}

func mixOnce(g *topology.Graph, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		y[i] = g.SelfWeight(agent.ID(i)) * x[i]
		for _, nb := range g.In(agent.ID(i)) {
			y[i] += nb.Weight * x[nb.ID]
		}
	}
	return y
}

// The irregular digraph: its row sums are what one round makes of weights of 1, and
// columns sum to 1 (reference figures of the algorithm's specification). Plain averaging
// refuses it.
func TestIrregularDigraph(t *testing.T) {
	const text = "path = 'testdata/irregular.txt'"
	g := at(t, varying(t, topology.Spec{Graph: "directed-file", Agents: 5, Push: true}, text), 0)
	y := mixOnce(g, []float64{1, 1, 1, 1, 1})
	for i, want := range []float64{7. / 6, 5. / 6, 4. / 3, 5. / 6, 5. / 6} {
		if math.Abs(y[i]-want) > 1e-15 {
			t.Errorf("row %d sums to %v, want %v", i, y[i], want)
		}
	}
	if err := topology.Validate(g, topology.Claims{ColumnStochastic: true, Connected: true}); err != nil ||
		g.DoublyStochastic() {
		t.Errorf("columns: %v; doubly stochastic: %v, want no", err, g.DoublyStochastic())
	}
	_, err := topology.Build(topology.Spec{Graph: "directed-file", Agents: 5}, params(text))
	var bad *config.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.Allowed, "sgp") {
		t.Errorf("plain averaging on an unbalanced digraph: %v", err)
	}
	if info, err := topology.Analyze(g); err != nil || info.Computed {
		t.Errorf("spectrum of a digraph: %+v, %v", info, err)
	}
}

func TestWeightedArcs(t *testing.T) {
	g := at(t, varying(t, topology.Spec{Graph: "directed-file", Agents: 3, Push: true},
		"path = 'testdata/weighted-arcs.txt'"), 0)
	for _, c := range []struct {
		i, j agent.ID
		want float64
	}{{1, 0, .5}, {2, 0, .25}, {0, 0, .25}, {2, 1, .75}, {1, 1, .25}, {0, 2, .5}, {2, 2, .5}, {0, 1, 0}} {
		if w := g.Weight(c.i, c.j); w != c.want {
			t.Errorf("P[%d][%d] = %v, want %v", c.i, c.j, w, c.want)
		}
	}
}

// A dropout of d deletes a share d of the links, independently in every round: 200 rounds
// of 45 links, whose count lies within 5 standard deviations (false rejects below 1e-6).
// Weights stay doubly stochastic.
func TestDropout(t *testing.T) {
	const rounds, links, d = 200, 45, .3
	s := varying(t, topology.Spec{Graph: "complete", Agents: 10, Seed: 5, Dropout: d, Rounds: rounds}, "")
	count, same := 0, 0
	var previous *topology.Graph
	for k := range uint64(rounds) {
		g := at(t, s, k)
		count += g.Links()
		if previous != nil && previous.Links() == g.Links() {
			same++
		}
		if !g.Symmetric() || !g.DoublyStochastic() || g.Directed() {
			t.Fatalf("round %d is not symmetric and doubly stochastic", k)
		}
		previous = g
	}
	const n = rounds * links
	if off := (float64(count) - n*(1-d)) / math.Sqrt(n*d*(1-d)); math.Abs(off) > 5 {
		t.Errorf("%d of %d links left at dropout %v: %.1f standard deviations off", count, n, d, off)
	}
	if same > rounds/2 {
		t.Error("rounds hardly differ")
	}
}

func TestJointlyConnected(t *testing.T) {
	s := varying(t, topology.Spec{Graph: "exp-directed", Agents: 8}, "")
	if err := topology.JointlyConnected(s, 5, 3); err != nil {
		t.Error(err)
	}
	// Rounds 1 and 2 have hops of 2 and 4: even agents only.
	err := topology.JointlyConnected(s, 1, 2)
	if err == nil || !strings.Contains(err.Error(), "in rounds 1 to 2 agent 0 reaches 3 of 7 agents") {
		t.Errorf("rounds of even hops: %v", err)
	}
	if w := topology.ConnectedWindow(s, 1, 100); w != 3 {
		t.Errorf("%d rounds connect all, want 3", w)
	}
	if w := topology.ConnectedWindow(s, 1, 2); w != 0 {
		t.Errorf("%d rounds of at most 2 connect all", w)
	}
	if _, err = topology.Build(topology.Spec{Graph: "exp-directed", Agents: 8, Window: 2}, params("")); err ==
		nil || !strings.Contains(err.Error(), "in rounds 1 to 2") {
		t.Errorf("a window of 2 rounds: %v", err)
	}
}

func TestVaryingRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		spec topology.Spec
		text string
		key  string
	}{
		"dropout of 1":            {topology.Spec{Graph: "ring", Dropout: 1}, "", "dropout"},
		"dropout NaN":             {topology.Spec{Graph: "ring", Dropout: math.NaN()}, "", "dropout"},
		"window too long":         {topology.Spec{Graph: "ring", Dropout: .1, Window: 1001}, "", "window"},
		"window of a static ring": {topology.Spec{Graph: "ring", Window: 3}, "", "window"},
		"too much dropout": {topology.Spec{Graph: "ring", Dropout: .9, Window: 2, Rounds: 10}, "",
			"window"},
		"later windows": {topology.Spec{Graph: "ring", Dropout: .3, Window: 3, Rounds: 100000}, "",
			"window"},
		"metropolis arcs": {topology.Spec{Graph: "directed-ring", Weights: "metropolis"}, "",
			"weights"},
		"no weights in the file": {topology.Spec{Graph: "directed-file", Weights: "file", Push: true},
			"path = 'testdata/irregular.txt'", "weights"},
		"column without push-sum": {topology.Spec{Graph: "star", Weights: "column"}, "", "weights"},
		"file without a path":     {topology.Spec{Graph: "directed-file"}, "", "path"},
		"dropout of given weights": {topology.Spec{Graph: "directed-file", Dropout: .1, Push: true},
			"path = 'testdata/weighted-arcs.txt'", "dropout"},
	} {
		c.spec.Agents = 5
		_, err := topology.Build(c.spec, params(c.text))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s: %v, want a config.Error on %s", name, err, c.key)
		}
	}
}

// Whatever an arc list holds, it is refused by line or gives columns that sum to 1.
func FuzzReadArcs(f *testing.F) {
	for _, s := range []string{"0 1\n1 2\n2 0\n", "0 1 0.5\n1 0 1\n", "0 1 0.7\n0 2 0.7\n1 0 .1\n2 0 .1",
		"0 0", "1 0\n1 0", "a b", "0 1 nan", "-1 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arcs, err := topology.ReadArcs(strings.NewReader(text), "fuzz.txt", 3)
		var bad *config.Error
		if err != nil {
			if !errors.As(err, &bad) || bad.File != "fuzz.txt" || bad.Line == 0 {
				t.Errorf("%v names no place", err)
			}
			return
		}
		seen := map[[2]agent.ID]bool{}
		for _, e := range arcs.Rounds[0] {
			if e.I == e.J || e.I > 2 || e.J > 2 || seen[[2]agent.ID{e.I, e.J}] ||
				arcs.Weighted && !(e.Weight > 0 && e.Weight <= 1) {
				t.Errorf("arc %v is let through", e)
			}
			seen[[2]agent.ID{e.I, e.J}] = true
		}
	})
}
