package topology_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/topology"
)

// printed reports whether got rounds to want at one unit of its last printed digit.
func printed(got, want, unit float64) bool { return math.Abs(got-want) <= .5000001*unit }

// Spectra under Metropolis weights, to the digits of an independent computation with
// another eigensolver.
func TestReferenceSpectra(t *testing.T) {
	for _, c := range []struct {
		graph                 string
		agents                int
		fiedler, second, last float64
		unit                  float64 // of the Fiedler value
	}{
		{"complete", 2, 1, 0, 0, 1e-4},
		{"complete", 37, 1, 0, 0, 1e-4},
		{"star", 10, .1, .9, 0, 1e-4},
		{"wheel", 10, .1468, .7830, -.0698, 1e-4},
		{"ring", 10, .0382, .8727, -.3333, 1e-4},
		{"path", 10, .0098, .9674, -.3007, 1e-4},
		{"ring", 5, .2764, .5393, -.2060, 1e-4},
		{"ring", 8, .0732, .8047, -.3333, 1e-4},
		{"ring", 16, .0095, .9493, -.3333, 1e-4},
		{"grid", 16, .0366, .8686, -.4308, 1e-4},
		{"hypercube", 16, .125, .6, -.6, 1e-4},
		{"hypercube", 2048, .00098, .8333, -.8333, 1e-5},
		{"grid", 2025, 2.4e-6, .9990, -.5981, 1e-7},
	} {
		info, err := topology.Analyze(build(t, c.graph, "metropolis", c.agents, ""))
		if err != nil || !info.Computed {
			t.Errorf("%s of %d: %v %s", c.graph, c.agents, err, info.NotComputed)
			continue
		}
		if !printed(info.NormalizedFiedler, c.fiedler, c.unit) || !printed(info.Lambda2, c.second, 1e-4) ||
			!printed(info.LambdaN, c.last, 1e-4) {
			t.Errorf("%s of %d: %.7f %.5f %.5f, want %v %v %v", c.graph, c.agents,
				info.NormalizedFiedler, info.Lambda2, info.LambdaN, c.fiedler, c.second, c.last)
		}
		if info.Gap != 1-info.Lambda2 {
			t.Errorf("%s: gap %v of λ2 %v", c.graph, info.Gap, info.Lambda2)
		}
	}
}

// Closed forms: a ring's W has the eigenvalues 1/3 + 2/3 cos(2πk/n), its Laplacian 2 -
// 2cos(2πk/n); a d-cube of either 1 - 2k/(d+1) and 2k; a torus sums two rings: W has 1/5
// (1 + 2cos + 2cos). 1,521 agents go through the Lanczos iteration.
func TestClosedForms(t *testing.T) {
	for _, side := range []int{5, 39} {
		info, err := topology.Analyze(build(t, "torus", "", side*side, ""))
		if err != nil || !info.Computed {
			t.Fatalf("torus of %d: %v %s", side, err, info.NotComputed)
		}
		low, high := 2*math.Cos(2*math.Pi/float64(side)), 2*math.Cos(2*math.Pi*float64(side/2)/float64(side))
		near(t, "torus λ2", info.Lambda2, (1+2+low)/5)
		near(t, "torus λn", info.LambdaN, (1+2*high)/5)
		near(t, "torus fiedler", info.Fiedler, 2-low)
	}
	for _, n := range []int{3, 7, 100, 1_000_000} {
		info, err := topology.Analyze(build(t, "ring", "", n, ""))
		if err != nil || !info.Computed {
			t.Fatalf("ring of %d: %v %s", n, err, info.NotComputed)
		}
		angle := 2 * math.Pi / float64(n)
		near(t, "λ2", info.Lambda2, 1./3+2./3*math.Cos(angle))
		near(t, "λn", info.LambdaN, 1./3+2./3*math.Cos(angle*float64(n/2)))
		near(t, "fiedler", info.Fiedler, 2-2*math.Cos(angle))
	}
	info, err := topology.Analyze(build(t, "hypercube", "lazy", 64, ""))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "lazy λ2", info.Lambda2, 1-1./7)
	near(t, "lazy λn", info.LambdaN, 1-6./7)
	near(t, "fiedler", info.Fiedler, 2)
}

// The closed form of chains against the eigensolver: one chord of negligible weight takes
// a graph out of the closed form, and moves no eigenvalue of W by more than twice its
// weight (Weyl).
func TestChainsAgreeWithEigensolver(t *testing.T) {
	const chord = 1e-12
	for _, family := range []string{"ring", "path"} {
		for _, weights := range []string{"metropolis", "lazy"} {
			g := build(t, family, weights, 30, "")
			closed, err := topology.Analyze(g)
			if err != nil {
				t.Fatal(err)
			}
			self := make([]float64, 30)
			rows := make([][]agent.Neighbor, 30)
			for i := range self {
				self[i] = g.SelfWeight(agent.ID(i))
				rows[i] = append(rows[i], g.In(agent.ID(i))...)
			}
			for _, l := range [][2]agent.ID{{4, 20}, {20, 4}} {
				self[l[0]] -= chord
				rows[l[0]] = append(rows[l[0]], agent.Neighbor{ID: l[1], Weight: chord})
			}
			h, err := topology.FromRows("chord", self, rows)
			if err != nil {
				t.Fatal(err)
			}
			dense, err := topology.Analyze(h)
			if err != nil || dense.DegreeMax != 3 {
				t.Fatalf("%+v, %v", dense, err)
			}
			near(t, family+" "+weights+" λ2", closed.Lambda2, dense.Lambda2)
			near(t, family+" "+weights+" λn", closed.LambdaN, dense.LambdaN)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %.12f, want %.12f", what, got, want)
	}
}

// Row-normalised A + I on a star: π is proportional to degree + 1, so ten agents count
// 3.571 and .714. Its spectrum is that of the symmetrised matrix: trace of W is 1/10 +
// 9/2, of rank 2 on leaf differences (eight eigenvalues 1/2), 1, and the rest 4.6 - 4 - 1
// = -.4.
func TestUniformWeightsOnStar(t *testing.T) {
	s, err := topology.Build(topology.Spec{Graph: "star", Weights: "uniform", Agents: 10,
		AllowUnbalanced: true}, params(""))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := s.At(0)
	pi, ok := topology.Stationary(g)
	if !ok {
		t.Fatal("no stationary weights")
	}
	if !printed(10*pi[0], 3.571, 1e-3) || !printed(10*pi[1], .714, 1e-3) {
		t.Errorf("stationary weights %v and %v, want .3571 and .0714", pi[0], pi[1])
	}
	info, err := topology.Analyze(g)
	if err != nil || info.DoublyStochastic || info.Symmetric || !info.Computed {
		t.Fatalf("%+v, %v", info, err)
	}
	near(t, "λ2", info.Lambda2, .5)
	near(t, "λn", info.LambdaN, -.4)
	// Plain averaging really converges there.
	x := []float64{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for range 200 {
		y := make([]float64, 10)
		for i := range y {
			y[i] = g.SelfWeight(agent.ID(i)) * x[i]
			for _, nb := range g.In(agent.ID(i)) {
				y[i] += nb.Weight * x[nb.ID]
			}
		}
		x = y
	}
	near(t, "limit of the hub's value", x[7], pi[0])
}

// Uniform weights are the same matrix as Metropolis on regular graphs, and pass without
// an override.
func TestUniformWeightsOnRegularGraph(t *testing.T) {
	if g := build(t, "torus", "uniform", 9, ""); g.Weight(0, 1) != .2 || !g.Symmetric() {
		t.Errorf("weight %v, symmetric %v", g.Weight(0, 1), g.Symmetric())
	}
}

func TestMixingTime(t *testing.T) {
	for _, c := range []struct {
		graph  string
		agents int
		want   int
	}{
		{"complete", 10, 1}, {"star", 10, 10}, // .9^9 = .387, .9^10 = .349 < 1/e = .368
		{"hypercube", 16, 2}, // .6² = .36
	} {
		info, err := topology.Analyze(build(t, c.graph, "", c.agents, ""))
		if err != nil || info.MixingTime != c.want {
			t.Errorf("%s of %d mixes in %d rounds, want %d (%v)", c.graph, c.agents, info.MixingTime, c.want,
				err)
		}
	}
}

func TestSpectrumNotComputed(t *testing.T) {
	directed, err := topology.FromRows("cycle", []float64{.5, .5, .5},
		[][]agent.Neighbor{{{ID: 2, Weight: .5}}, {{ID: 0, Weight: .5}}, {{ID: 1, Weight: .5}}})
	if err != nil {
		t.Fatal(err)
	}
	apart, err := topology.FromRows("apart", []float64{1, 1}, [][]agent.Neighbor{{}, {}})
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*topology.Graph{
		"one": build(t, "complete", "", 1, ""), "large": build(t, "grid", "", 20_001, ""),
		"directed": directed, "apart": apart,
	} {
		info, err := topology.Analyze(g)
		if err != nil || info.Computed || info.NotComputed == "" || info.Lambda2 != 0 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	// A complete graph's λ2 = λn = 0 is a value, not a missing one.
	if info, err := topology.Analyze(build(t, "complete", "", 5, "")); err != nil || !info.Computed ||
		info.DegreeMean != 4 || info.Links != 10 {
		t.Errorf("complete: %+v, %v", info, err)
	}
}
