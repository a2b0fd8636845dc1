package algo_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/topology"
)

// After so many rounds as Rounds says no agent's average is further from the mean than
// the tolerance times the root of the sum of squares of what each one began with: by the
// product of all rounds' matrices, whose rows are that factor. One round less is not
// enough for the graph's slowest eigenvector.
func TestRoundsThatAverage(t *testing.T) {
	const tolerance = 1e-4
	for _, c := range []struct {
		graph  string
		agents int
		r      algo.Recursion
	}{
		{"complete", 5, algo.Recursion{Acceleration: "plain"}},
		{"path", 3, algo.Recursion{Acceleration: "plain"}},
		{"ring", 9, algo.Recursion{Acceleration: "chebyshev"}},
		{"ring", 9, algo.Recursion{Acceleration: "chebyshev-ns"}},
		{"star", 6, algo.Recursion{Acceleration: "paper"}},
		{"ring", 16, algo.Recursion{Acceleration: "jacobi", Dimension: 1}},
		{"hypercube", 16, algo.Recursion{Acceleration: "jacobi", Dimension: 4}},
	} {
		spec := topology.Spec{Graph: c.graph, Agents: c.agents}
		s, err := topology.Build(spec, func(any) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.At(0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := topology.Analyze(g)
		if err != nil {
			t.Fatal(err)
		}
		env := agent.Env{Agents: c.agents,
			Graph: agent.Graph{SLEM: 1 - info.AbsoluteGap, Lambda2: info.Lambda2}}
		need, err := c.r.Rounds(env, tolerance)
		if err != nil || need == 0 {
			t.Fatalf("%s, %s: %d rounds, %v", c.graph, c.r.Acceleration, need, err)
		}
		coefficients, err := c.r.Coefficients(env, int(need))
		if err != nil {
			t.Fatal(err)
		}
		if far := furthest(g, coefficients, int(need)); far > tolerance*(1+1e-9)+1e-12 {
			t.Errorf("%s, %s: %d rounds leave %v", c.graph, c.r.Acceleration, need, far)
		}
		// a round less leaves more of the slowest eigenvector, one entry of which is 1/√n
		if far := furthest(g, coefficients, int(need)-1); need > 1 && c.r.Acceleration != "jacobi" &&
			far < tolerance/math.Sqrt(float64(c.agents)) {
			t.Errorf("%s, %s: %d rounds leave %v: fewer are enough", c.graph, c.r.Acceleration, need-1, far)
		}
	}
}

// furthest is the largest length of a row of what all rounds do, less the mean.
func furthest(g *topology.Graph, coefficients [][3]float64, rounds int) (most float64) {
	n := g.Agents()
	for begin := range n { // W is symmetric: columns are rows
		y, previous := make([]float64, n), make([]float64, n)
		y[begin] = 1
		for k := range rounds {
			a, b, c := 1., 0., 0.
			if coefficients != nil {
				a, b, c = coefficients[k][0], coefficients[k][1], coefficients[k][2]
			}
			next := make([]float64, n)
			for i := range n {
				mixed := g.SelfWeight(agent.ID(i)) * y[i]
				for _, l := range g.In(agent.ID(i)) {
					mixed += l.Weight * y[l.ID]
				}
				next[i] = a*mixed + b*y[i] - c*previous[i]
			}
			y, previous = next, y
		}
		sum := 0.
		for i := range y {
			sum += math.Pow(y[i]-1/float64(n), 2)
		}
		most = max(most, math.Sqrt(sum))
	}
	return most
}
