package account

import (
	"math"
	"testing"

	"sotto/privacy/account/gdp"
)

// TestGaussianOneShot checks the one-vector figures of the joint release and the tree
// against their definitions.
func TestGaussianOneShot(t *testing.T) {
	ok := must(t)
	// Gradient at multiplier 1 and a count centred at 1/2 (sensitivity 1/2) at noise 10:
	// 1/s^2 = 1 + (0.5/10)^2.
	joint := ok(JointGaussian([]float64{1, 10}, []float64{1, 0.5}))
	mu, _ := gaussianMu(joint.body)
	within(t, "joint", mu*mu, 1+0.05*0.05, 1e-12)
	if _, err := JointGaussian([]float64{1}, nil); err == nil {
		t.Error("lengths may differ")
	}
	seq, _ := gaussianMu(ok(Compose(ok(Gaussian(1, 1)), ok(Repeat(3, ok(Gaussian(2, 1)))))).body)
	within(t, "sequence", seq*seq, 1+3./4, 1e-12)
	// Steps 1, 3, 4, 64 enter 1, 2, 3, 7 nodes of a binary tree.
	for steps, height := range map[int]int{1: 1, 3: 2, 4: 3, 64: 7, 1024: 11} {
		if got := treeHeight(steps); got != height {
			t.Errorf("tree of %d steps: height %d, want %d", steps, got, height)
		}
	}
	// A group of 3 shifts a Gaussian by 3 clips exactly; without sampling all accountants
	// agree with that.
	a, err := NewExactGaussian(ReplaceOne, Group(3))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Compose(ok(Gaussian(6, 2)), 4); err != nil {
		t.Fatal(err)
	}
	within(t, "group", a.Mu(), 2, 1e-12)
}

// Whatever the noise, a Gaussian event has no epsilon at delta 0, and mu is its own where
// its square is no number: one event of mu, and n of mu/sqrt(n).
func TestMuWithoutItsSquare(t *testing.T) {
	normal := func(mu float64) Event { return must(t)(Gaussian(1/math.Sqrt(mu), math.Sqrt(mu))) }
	for _, mu := range []float64{1e-199, 1e-170, 1e-162, 1e-155, 1e-8, 1, 1e8, 1e155, 1e199} {
		for _, ev := range []Event{normal(mu), must(t)(Compose(normal(mu), must(t)(GDP(0))))} {
			a, err := NewExactGaussian(AddRemove, Record())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Compose(ev, 1); err != nil {
				t.Fatal(err)
			}
			within(t, "mu", a.Mu()/mu, 1, 1e-12)
			if e, err := a.Epsilon(0); err != nil || !math.IsInf(e.Upper, 1) {
				t.Errorf("mu %g at delta 0: %v, %v", mu, e, err)
			}
			if err := a.Compose(normal(mu/4), 1<<40); err != nil {
				t.Fatal(err)
			}
			within(t, "sum", a.Mu()/mu/math.Sqrt(1+math.Exp2(36)), 1, 1e-12)
		}
	}
}

// TestDiscreteGaussianIsContinuous compares the reading of a discrete Gaussian as a
// continuous one, at its smallest sigma_grid and dimension 1, with the exact pair of
// atoms: it must bound it, closely.
func TestDiscreteGaussianIsContinuous(t *testing.T) {
	ev := must(t)(DiscreteGaussian(minContinuous, 32, 32, 1))
	mu, ok := gaussianMu(ev.body)
	if !ok {
		t.Fatal("not read as continuous")
	}
	exact := discreteGaussianPair(minContinuous, 32)
	for _, eps := range []float64{0, 0.5, 1, 3, 5} {
		want := profileOf(exact, false, eps)
		if got := gdp.Delta(mu, eps); got < want*(1-1e-9) {
			t.Errorf("eps %v: %v is below %v", eps, got, want)
		}
		if later := gdp.Delta(mu, 1.01*eps+0.01); later > want { // 1% of epsilon at most
			t.Errorf("eps %v: the bound is loose, %v above %v", eps, later, want)
		}
	}
}
