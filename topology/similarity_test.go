package topology_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
	"sotto/topology"
)

// planeVectors are n vectors of dim entries, all but the first two zero.
func planeVectors(n, dim int) tensor.Mat {
	r := rand.New(rand.NewPCG(4, 4))
	m := tensor.NewMat(n, dim)
	for i := range n {
		m.Row(i)[0], m.Row(i)[1] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	return m
}

func similar(t *testing.T, graph string, vectors tensor.Mat, decode func(any) error) *topology.Graph {
	t.Helper()
	s, err := topology.Build(topology.Spec{Graph: graph, Agents: vectors.Rows, Vectors: vectors}, decode)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func keep(any) error { return nil }

func angle(a, b tensor.Vec) float64 { return math.Acos(min(1, max(-1, a.Dot(b)/(a.Norm()*b.Norm())))) }

// Weights are exp((cos φ - 1)/γ), without those below the threshold.
func TestSimilarity(t *testing.T) {
	v := planeVectors(40, 5)
	g := similar(t, "similarity", v, func(p any) error {
		p.(*topology.SimilarityParams).Gamma = .2
		return nil
	})
	for i := range 40 {
		for j := range 40 {
			want := math.Exp((math.Cos(angle(v.Row(i), v.Row(j))) - 1) / .2)
			if i == j || want < 1e-3 {
				want = 0
			}
			if got := g.Weight(agent.ID(i), agent.ID(j)); math.Abs(got-want) > 1e-6 {
				t.Fatalf("weight of %d and %d is %g, want %g", i, j, got, want)
			}
		}
	}
	if !g.Objective() || !g.Symmetric() {
		t.Error("the weights are not those of an objective")
	}
}

// The nearest neighbors by sorted angles are those that comparing all pairs finds, in and
// out of the plane.
func TestNearest(t *testing.T) {
	for _, n := range []int{2, 5, 11, 150} {
		k := min(4, n-1)
		v := planeVectors(n, 3)
		want := map[[2]int]bool{}
		for i := range n {
			var others []int
			for j := range n {
				if j != i {
					others = append(others, j)
				}
			}
			slices.SortFunc(others, func(a, b int) int {
				if angle(v.Row(i), v.Row(a)) < angle(v.Row(i), v.Row(b)) {
					return -1
				}
				return 1
			})
			for _, j := range others[:k] {
				want[[2]int{min(i, j), max(i, j)}] = true
			}
		}
		params := func(p any) error { p.(*topology.NearestParams).Neighbors = k; return nil }
		flat := similar(t, "knn", v, params)
		turned := tensor.NewMat(n, 3) // the same angles, out of the plane of the first two axes
		for i := range n {
			copy(turned.Row(i), []float32{v.Row(i)[0], 0, v.Row(i)[1]})
		}
		for name, g := range map[string]*topology.Graph{"plane": flat,
			"space": similar(t, "knn", turned, params)} {
			if g.Links() != len(want) {
				t.Errorf("%d agents, %s: %d links, want %d", n, name, g.Links(), len(want))
			}
			for e := range g.Edges() {
				if !want[[2]int{int(e.I), int(e.J)}] || e.Weight != 1 {
					t.Errorf("%d agents, %s: link %v", n, name, e)
				}
			}
		}
	}
}

// Rows of Walk sum to 1, and its spectrum is what Analyze gives: on a ring, that of half
// steps to either side, cos(2πk/n).
func TestObjectiveWeights(t *testing.T) {
	s, err := topology.Build(topology.Spec{Graph: "ring", Weights: "objective", Agents: 9}, keep)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := s.At(0)
	if g.Weight(0, 1) != 1 || g.SelfWeight(0) != 0 || !g.Objective() {
		t.Errorf("weights %g and %g, want 1 and 0", g.Weight(0, 1), g.SelfWeight(0))
	}
	info, err := topology.Analyze(g)
	if err != nil || !info.Computed || math.Abs(info.Lambda2-math.Cos(2*math.Pi/9)) > 1e-9 ||
		math.Abs(info.LambdaN-math.Cos(8*math.Pi/9)) > 1e-9 {
		t.Errorf("%+v: %v", info, err)
	}
	big := similar(t, "knn", planeVectors(20_001, 2), keep)
	info, err = topology.Analyze(big)
	if err != nil || info.Computed || info.DegreeMin < 10 || info.NotComputed == "" {
		t.Errorf("20,001 agents: %+v, %v", info, err)
	}
}

func TestSimilaritiesRefuse(t *testing.T) {
	v := planeVectors(6, 3)
	for _, c := range []struct {
		graph, key string
		spec       topology.Spec
		decode     func(any) error
	}{
		{"knn", "graph", topology.Spec{Agents: 7, Vectors: v}, keep},
		{"knn", "neighbors", topology.Spec{Agents: 6, Vectors: v}, func(p any) error {
			p.(*topology.NearestParams).Neighbors = 6
			return nil
		}},
		{"knn", "weights", topology.Spec{Agents: 6, Vectors: v, Weights: "cosine"}, func(p any) error {
			p.(*topology.NearestParams).Neighbors = 2
			return nil
		}},
		{"similarity", "gamma", topology.Spec{Agents: 6, Vectors: v}, func(p any) error {
			p.(*topology.SimilarityParams).Gamma = 0
			return nil
		}},
		{"similarity", "threshold", topology.Spec{Agents: 6, Vectors: v}, func(p any) error {
			p.(*topology.SimilarityParams).Threshold = 2
			return nil
		}},
		{"similarity", "graph", topology.Spec{Agents: 6, Vectors: v}, func(p any) error {
			p.(*topology.SimilarityParams).Threshold = 1
			return nil
		}},
		{"nearest", "graph", topology.Spec{Agents: 6, Vectors: v}, keep},
	} {
		c.spec.Graph = c.graph
		_, err := topology.Build(c.spec, c.decode)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s, %s: %v", c.graph, c.key, err)
		}
	}
}
