package account

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account/loss"
)

// bigUpperTail is P[Z > x] for x > 0 in 300-bit arithmetic, by the series of the error
// function (independent of math.Erfc).
func bigUpperTail(x float64) *big.Float {
	const prec = 600
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	// Phi(x) - 1/2 = phi(x) (x + x^3/3 + x^5/(3 5) + ...)
	sum, term, x2 := f(0), f(x), new(big.Float).SetPrec(prec).Mul(f(x), f(x))
	for k := 1; k < 4000; k++ {
		sum.Add(sum, term)
		term.Mul(term, x2)
		term.Quo(term, f(float64(2*k+1)))
	}
	half := loss.BigExp(x*x/2, prec) // exact when x*x/2 is; callers use short x
	sum.Quo(sum, half)
	pi, _ := new(big.Float).SetPrec(prec).SetString(
		"3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825" +
			"34211706798214808651328230664709384460955058223172535940812848111745028410270193852110" +
			"555964462294895493038196442881097566593344612847564823378678316527120190914564856692")
	root := new(big.Float).SetPrec(prec).Sqrt(new(big.Float).SetPrec(prec).Mul(f(2), pi))
	sum.Quo(sum, root)
	return new(big.Float).SetPrec(prec).Sub(f(0.5), sum)
}

// TestGaussianDeltaTiny compares delta with 600-bit arithmetic down to 1e-30 and beyond,
// where subtraction in doubles has no digits.
func TestGaussianDeltaTiny(t *testing.T) {
	for _, c := range []struct {
		mu, u float64
	}{{1, 0.5}, {1, 4}, {0.5, 8}, {0.25, 11.5}, {2, 11.5}, {0.0625, 20}} {
		eps := c.mu*c.u + c.mu*c.mu/2 // u = eps/mu - mu/2
		far := new(big.Float).SetPrec(600).Mul(loss.BigExp(eps, 600), bigUpperTail(c.u+c.mu))
		want, _ := new(big.Float).Sub(bigUpperTail(c.u), far).Float64()
		if got := GaussianDelta(c.mu, eps); math.Abs(got-want) > 1e-10*want {
			t.Errorf("mu %v eps %v: %v, want %v", c.mu, eps, got, want)
		}
	}
}

func TestGaussianRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln mu"))
		delta := math.Exp(rapid.Float64Range(-600, -0.1).Draw(t, "ln delta"))
		eps := GaussianEpsilon(mu, delta)
		if eps > 0 {
			if got := lnGaussianDelta(mu, eps); math.Abs(got-math.Log(delta)) >
				1e-9*math.Max(1, -math.Log(delta)) {
				t.Fatalf("ln delta(eps(%v)) is %v", math.Log(delta), got)
			}
			if delta > 1e-250 {
				if m := GaussianMu(eps, delta); math.Abs(m-mu) > 1e-9*mu {
					t.Fatalf("mu %v became %v", mu, m)
				}
			}
		}
		if neg := GaussianDelta(mu, -eps); neg < 0 || neg > 1 {
			t.Fatalf("delta at -%v is %v", eps, neg)
		}
	})
}

func TestGaussianEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		mu, delta, want float64
	}{{0, 0, 0}, {0, 1e-5, 0}, {1, 0, inf}, {1, 1, 0}, {inf, 1e-5, inf}, {inf, 1, 0}, {1e-8, 1e-5, 0}} {
		if got := GaussianEpsilon(c.mu, c.delta); got != c.want {
			t.Errorf("mu %v delta %v: %v, want %v", c.mu, c.delta, got, c.want)
		}
	}
	for _, mu := range []float64{1e-3, 1, 30, 1e3, 1e8} {
		for _, delta := range []float64{1e-300, 1e-30, 1e-5, 0.5, 0.999} {
			if e := GaussianEpsilon(mu, delta); math.IsNaN(e) || e < 0 || math.IsInf(e, 1) {
				t.Errorf("mu %v delta %v: %v", mu, delta, e)
			}
		}
	}
}

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
		if got := GaussianDelta(mu, eps); got < want*(1-1e-9) {
			t.Errorf("eps %v: %v is below %v", eps, got, want)
		}
		if later := GaussianDelta(mu, 1.01*eps+0.01); later > want { // 1% of epsilon at most
			t.Errorf("eps %v: the bound is loose, %v above %v", eps, later, want)
		}
	}
}
