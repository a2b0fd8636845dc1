package topology_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// Every target of the paper is met within .05, checked by an eigenvalue solver of its own
// on the Laplacian.
func TestFiedlerTargets(t *testing.T) {
	for _, target := range []float64{1, .7, .39, .06} {
		for seed := range uint64(20) {
			s, err := topology.New("er-fiedler", "", 10, seed, params(fmt.Sprintf("target = %v", target)))
			if err != nil {
				t.Fatal(err)
			}
			g, _ := s.At(0)
			lap := mat.NewSymDense(10, nil)
			for i := range 10 {
				lap.SetSym(i, i, float64(g.Degree(agent.ID(i))))
			}
			for e := range g.Edges() {
				lap.SetSym(int(e.I), int(e.J), -1)
			}
			var eig mat.EigenSym
			if !eig.Factorize(lap, false) {
				t.Fatal("no eigenvalues")
			}
			if got := eig.Values(nil)[1] / 10; math.Abs(got-target) > .05+1e-9 {
				t.Errorf("target %g, seed %d: λ2/n is %g", target, seed, got)
			}
		}
	}
}

// The link probability is the caller's where one is given: published acceptance rates at
// n = 10 are .58 (p = .3) for .06 and .41 (p = .7) for .39. Mean draws over 500 seeds: sd
// √(1-a)/a/√500 < .09; bounds are five of them.
func TestFiedlerAcceptance(t *testing.T) {
	for _, c := range []struct{ target, p, accept float64 }{{.06, .3, .58}, {.39, .7, .41}} {
		total := 0
		for seed := range uint64(500) {
			s, err := topology.New("er-fiedler", "", 10, seed,
				params(fmt.Sprintf("target = %v\np = %v", c.target, c.p)))
			if err != nil {
				t.Fatal(err)
			}
			g, _ := s.At(0)
			total += g.Draws()
		}
		sd := math.Sqrt(1-c.accept) / c.accept / math.Sqrt(500)
		// The published rates come from 4,000 draws and are rounded to 1 %.
		if mean, want := float64(total)/500, 1/c.accept; math.Abs(mean-want) > 5*sd+.05 {
			t.Errorf("target %g, p %g: %v draws on average, want %v", c.target, c.p, mean, want)
		}
	}
}

func TestFiedlerImpossible(t *testing.T) {
	_, err := topology.New("er-fiedler", "", 10, 1, params("target = 0.9\ntolerance = 0.01"))
	var bad *config.Error
	// The complete graph has 1; without one link the vertices of that link have degree 8,
	// and λ2 is 8.
	if !errors.As(err, &bad) || bad.Key != "target" || !strings.Contains(bad.Allowed, "1.0000") &&
		!strings.Contains(bad.Allowed, "0.8000") {
		t.Errorf("got %v, want the closest value", err)
	}
}
