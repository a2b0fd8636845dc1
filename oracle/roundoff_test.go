package oracle

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"sotto/config"
	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/rng"
)

const bits = 300

func exact(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

// exactExp is e^x for x <= 0 by halving and the exponential series.
func exactExp(x *big.Float) *big.Float {
	halved, times := new(big.Float).SetPrec(bits).Set(x), 0
	for halved.Cmp(exact(-.5)) < 0 {
		halved.Mul(halved, exact(.5))
		times++
	}
	sum, term := exact(1), exact(1)
	for k := 1; k < 80; k++ {
		term.Mul(term, halved)
		term.Quo(term, exact(float64(k)))
		sum.Add(sum, term)
	}
	for range times {
		sum.Mul(sum, sum)
	}
	return sum
}

// exactGradient is the norm of (1/m̄) Σ -y σ(-y x·θ) x + 2λθ in 300 bits.
func exactGradient(x, y, theta []float64, normaliser, lambda float64) float64 {
	d := len(theta)
	g := make([]*big.Float, d)
	for i, t := range theta {
		g[i] = exact(2 * lambda)
		g[i].Mul(g[i], exact(t))
	}
	for r, label := range y {
		margin := exact(0)
		for i, t := range theta {
			term := exact(x[r*d+i])
			margin.Add(margin, term.Mul(term, exact(t*label)))
		}
		e := new(big.Float).SetPrec(bits).Abs(margin)
		e = exactExp(e.Neg(e))
		slope := exact(1) // σ(-margin)
		if margin.Sign() > 0 {
			slope.Set(e)
		}
		slope.Quo(slope, e.Add(e, exact(1)))
		slope.Mul(slope, exact(-label/normaliser))
		for i := range g {
			term := exact(x[r*d+i])
			g[i].Add(g[i], term.Mul(term, slope))
		}
	}
	square := exact(0)
	for _, v := range g {
		square.Add(square, v.Mul(v, v))
	}
	f, _ := square.Float64()
	return math.Sqrt(f)
}

// hard is a data set that makes minimising hard: features nearly collinear but for so
// many digits, with labels that one direction separates almost or wholly.
func hard(r *rand.Rand, n, d, digits int) (x, y []float64) {
	for range n {
		row, square := make([]float64, d), 0.
		base := r.NormFloat64()
		for i := range row {
			row[i] = base + math.Pow(10, -float64(r.IntN(digits)))*r.NormFloat64()
			square += row[i] * row[i]
		}
		for _, v := range row {
			x = append(x, v/math.Sqrt(square)*(1-1e-12))
		}
		label := math.Copysign(1, row[0]-row[d-1])
		if r.IntN(20) == 0 {
			label = -label
		}
		y = append(y, label)
	}
	return x, y
}

// The gradient at the answer of a fit is within the tolerance that its sensitivity counts
// with, in exact arithmetic and down to the least λ that is admitted. (Unit features, so
// that the loss is 1-Lipschitz and G = 1.)
func TestFitsReachTheirTolerance(t *testing.T) {
	glm := glmOf(t, "logistic")
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		n, d := 2+r.IntN(40), 1+r.IntN(6)
		f := Fit{GLM: glm, Normaliser: float64(n), Radius: 1, Unit: account.Record(),
			Adjacency: account.ReplaceOne, Dim: d, Lambda: 1e-14}
		for f.Validate() != nil {
			f.Lambda *= 1.5
		}
		if f.Lambda > 1e-8 {
			t.Fatalf("the least λ is %g", f.Lambda)
		}
		x, y := hard(r, n, d, 7)
		s := newNewton(glm, x, y, f.Normaliser, f.Lambda, d)
		s.run(f.tolerance() - f.roundOff())
		if g := exactGradient(x, y, s.theta, f.Normaliser, f.Lambda); !(g <= f.tolerance()) {
			t.Errorf("%d records, %d values, λ %g: gradient %g, counted with %g", n, d, f.Lambda, g,
				f.tolerance())
		}
	}
}

// Where the minimiser may be too long, what is computed as a small gradient need not be
// one, and the fit is refused: with z = 1e9 and residuals of about 1, slopes are off by
// 1e-7, as ten cases show, with the tag long 40.
func TestFitRefusesWhatItCannotResolve(t *testing.T) {
	glm := glmOf(t, "huber")
	var bad *config.Error
	f := Fit{GLM: glm, Normaliser: 1, Radius: 1, Unit: account.Record(), Adjacency: account.ReplaceOne,
		Dim: 2, Lambda: 1e-10}
	if err := f.Validate(); !errors.As(err, &bad) || bad.Key != "fit_lambda" {
		t.Errorf("λ 1e-10: %v", err)
	}
	x, y, r := []float64{.6, .8}, []float64{1e9 + .3}, rand.New(rand.NewPCG(5, 6))
	worst, cases := 0., 10
	if long.Tests {
		cases = 40
	}
	for range cases {
		angle := r.Float64()
		x[0], x[1] = math.Cos(angle)*(1-1e-12), math.Sin(angle)*(1-1e-12)
		s := newNewton(glm, x, y, 1, f.Lambda, 2)
		s.run(Tolerance)
		// The slope of the Huber loss within delta = 1 is the residual.
		residual := exact(-y[0])
		for i, v := range x {
			term := exact(v)
			residual.Add(residual, term.Mul(term, exact(s.theta[i])))
		}
		square := exact(0)
		for i, v := range x {
			g := exact(v)
			g.Mul(g, residual)
			term := exact(2 * f.Lambda)
			g.Add(g, term.Mul(term, exact(s.theta[i])))
			square.Add(square, g.Mul(g, g))
		}
		v, _ := square.Float64()
		worst = max(worst, math.Sqrt(v))
	}
	if worst < 2*Tolerance {
		t.Errorf("gradients are at most %g: the case shows nothing", worst)
	}
	// A loss without a bounded slope has no guarantee to lose.
	f.GLM.Slope, f.GLM.Quadratic = math.Inf(1), true
	if err := f.Validate(); err != nil {
		t.Errorf("a loss without a bound: %v", err)
	}
}

// What is charged for round-off counts with twice the normaliser at most: a list of more
// records, as add-remove allows, is refused in words that do not say how many there are.
func TestMoreRecordsThanRoundOffCountsWith(t *testing.T) {
	for _, n := range []int{20, 21} {
		r := *owner("logistic", n, 3, 1, rng.Public(9, "counted"))
		f := Fit{GLM: glmOf(t, "logistic"), Normaliser: 10, Radius: 1, Unit: account.Record(),
			Adjacency: account.AddRemove, Dim: 3, Lambda: .1}
		fit := f.Bind(r, nil)
		k := KM{GLM: f.GLM, Operator: Backward, Gamma: 1, Residual: 5, ClipNorm: 1, SampleRate: 1,
			ExpectedBatchSize: 10, Adjacency: account.AddRemove, Unit: account.Record(), Dim: 3}
		km := k.Bind(r, nil)
		k.Operator = Forward // clips every gradient and adds them exactly but for the last bit
		if err := k.Bind(r, nil); err != nil {
			t.Errorf("forward, %d records: %v", n, err)
		}
		for name, err := range map[string]error{"fit": fit, "km": km} {
			if n == 20 && err != nil {
				t.Errorf("%s, %d records: %v", name, n, err)
			}
			if n > 20 {
				wantBad(t, "batch_size", err)
				if err != nil && strings.Contains(err.Error(), "21") {
					t.Errorf("%s says how many records there are: %v", name, err)
				}
			}
		}
	}
}
