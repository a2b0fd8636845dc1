package gdp

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

// TestDeltaTiny compares delta with 600-bit arithmetic down to 1e-30 and beyond,
// where subtraction in doubles has no digits.
func TestDeltaTiny(t *testing.T) {
	for _, c := range []struct {
		mu, u float64
	}{{1, 0.5}, {1, 4}, {0.5, 8}, {0.25, 11.5}, {2, 11.5}, {0.0625, 20}} {
		eps := c.mu*c.u + c.mu*c.mu/2 // u = eps/mu - mu/2
		far := new(big.Float).SetPrec(600).Mul(loss.BigExp(eps, 600), bigUpperTail(c.u+c.mu))
		want, _ := new(big.Float).Sub(bigUpperTail(c.u), far).Float64()
		if got := Delta(c.mu, eps); math.Abs(got-want) > 1e-10*want {
			t.Errorf("mu %v eps %v: %v, want %v", c.mu, eps, got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln mu"))
		delta := math.Exp(rapid.Float64Range(-600, -0.1).Draw(t, "ln delta"))
		eps := Epsilon(mu, delta)
		if eps > 0 {
			if got := lnDelta(mu, eps); math.Abs(got-math.Log(delta)) >
				1e-9*math.Max(1, -math.Log(delta)) {
				t.Fatalf("ln delta(eps(%v)) is %v", math.Log(delta), got)
			}
			if delta > 1e-250 {
				if m := Mu(eps, delta); math.Abs(m-mu) > 1e-9*mu {
					t.Fatalf("mu %v became %v", mu, m)
				}
			}
		}
		if neg := Delta(mu, -eps); neg < 0 || neg > 1 {
			t.Fatalf("delta at -%v is %v", eps, neg)
		}
	})
}

func TestEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		mu, delta, want float64
	}{{0, 0, 0}, {0, 1e-5, 0}, {1, 0, inf}, {1, 1, 0}, {inf, 1e-5, inf}, {inf, 1, 0}, {1e-8, 1e-5, 0}} {
		if got := Epsilon(c.mu, c.delta); got != c.want {
			t.Errorf("mu %v delta %v: %v, want %v", c.mu, c.delta, got, c.want)
		}
	}
	nan := math.NaN() // what is no mechanism has no bound
	for _, c := range [][2]float64{{-1, 1}, {-1, 0}, {-1e-9, 1}, {-inf, 1}, {nan, 1}, {1, nan}, {0, nan}} {
		if got := Delta(c[0], c[1]); got != 1 {
			t.Errorf("mu %v epsilon %v: delta %v", c[0], c[1], got)
		}
	}
	for _, mu := range []float64{1e-3, 1, 30, 1e3, 1e8} {
		for _, delta := range []float64{1e-300, 1e-30, 1e-5, 0.5, 0.999} {
			if e := Epsilon(mu, delta); math.IsNaN(e) || e < 0 || math.IsInf(e, 1) {
				t.Errorf("mu %v delta %v: %v", mu, delta, e)
			}
		}
	}
}
