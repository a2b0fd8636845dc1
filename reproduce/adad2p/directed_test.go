package adad2p

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
	"sotto/topology"
)

// On the graph with a hub agent 0 comes to hold about 8 of 20 units of push weight, and
// the others .6 on average. Twenty agents that all want to be at 1, with gradients z - 1,
// stay there by push-sum; without its division agent 0 goes to more than 4 and others to
// less than .8.
func TestHubNeedsDebiasing(t *testing.T) {
	const n, step = 20, .03
	s, err := topology.Build(topology.Spec{Graph: "exp-directed-hub", Agents: n, Push: true},
		func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	at1 := func() *mat.VecDense {
		v := mat.NewVecDense(n, nil)
		for i := range n {
			v.SetVec(i, 1)
		}
		return v
	}
	for _, debias := range []bool{true, false} {
		x, w := at1(), at1()
		z := func(i int) float64 {
			if debias {
				return x.AtVec(i) / w.AtVec(i)
			}
			return x.AtVec(i)
		}
		for k := range uint64(500) {
			g, err := s.At(k)
			if err != nil {
				t.Fatal(err)
			}
			half, p := mat.NewVecDense(n, nil), matrixOf(g)
			for i := range n {
				half.SetVec(i, x.AtVec(i)-step*(z(i)-1))
			}
			next, mass := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			next.MulVec(p, half)
			mass.MulVec(p, w)
			x, w = next, mass
		}
		others, least, most := (mat.Sum(w)-w.AtVec(0))/(n-1), z(0), z(0)
		if math.Abs(w.AtVec(0)-8) > .5 || math.Abs(others-.6) > .05 {
			t.Errorf("push weights %v and %v", w.AtVec(0), others)
		}
		for i := range n {
			least, most = min(least, z(i)), max(most, z(i))
		}
		switch {
		case debias && max(1-least, most-1) > 1e-9:
			t.Errorf("push-sum leaves agents at %v to %v", least, most)
		case !debias && (z(0) < 4 || least > .8):
			t.Errorf("without its division agents are at %v to %v, agent 0 at %v", least, most, z(0))
		}
	}
}

// Each method is set beside itself on the doubly stochastic graph, seed by seed: points
// that only the graph costs are the difference.
func TestDirected(t *testing.T) {
	rows := reproducetest.Runs(directedCells(reproduce.Full), func(v []string) float64 {
		return .9 + reproduce.Number(v[8])/1000 - map[string]float64{directedGraphs[0]: .02}[v[7]]
	})
	d := directed(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full})
	if len(rows) != 2*4*5 || len(d.Rows) != 2*4 {
		t.Fatalf("%d rows of %d runs", len(d.Rows), len(rows))
	}
	for _, row := range d.Rows {
		want := map[bool]string{true: "-2.00 ± 0.00"}[row[0] == directedGraphs[0]]
		mean := map[bool]string{true: "88.3", false: "90.3"}[want != ""]
		if row[6] != want || !strings.HasPrefix(row[3], mean) {
			t.Errorf("%q, want a difference of %q", row, want)
		}
	}
}
