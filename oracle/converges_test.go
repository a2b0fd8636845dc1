package oracle

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"sotto/config"
	"sotto/model"
	"sotto/privacy/account"
)

// kinks are groups of equal records on a circle, with targets as far apart as a float32
// has them: Newton's steps cycle between kinks of the huber loss.
func kinks(seed uint64, each int) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	x, y = []float64{1, 0}, []float64{1e38}
	for range 2 + r.IntN(3) {
		a, target := r.Float64()*2*math.Pi, 0.
		switch r.IntN(4) {
		case 0:
			target = r.NormFloat64() * 1e4
		case 1:
			target = 1e7
		}
		for range (1 + r.IntN(12)) * each {
			x, y = append(x, math.Cos(a), math.Sin(a)), append(y, target)
		}
	}
	return x, y
}

// Fit reaches the tolerance that its sensitivity counts with, for every loss with a
// bounded slope, at small λ too.
func TestFitReachesItsTolerance(t *testing.T) {
	m, err := model.New("huber", model.Shape{Height: 1, Width: 1, Channels: 2}, func(p any) error {
		p.(*model.HuberParams).Intercept = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	glm, _ := model.Linear(m)
	for seed := range uint64(40) {
		for _, lambda := range []float64{2.5e-6, 1e-4, .1} {
			x, y := kinks(seed, 1+int(seed%3)*10)
			f := Fit{GLM: glm, Normaliser: float64(len(y)), Lambda: lambda, Radius: 1,
				Adjacency: account.ZeroOut, Unit: account.Record(), Dim: 2}
			if err := f.Validate(); err != nil {
				t.Fatal(err)
			}
			f.cut(y)
			n := newNewton(glm, x, y, f.Normaliser, lambda, 2)
			n.run(f.tolerance() - f.roundOff())
			n.value(n.theta, false)
			if g := norm(n.gradient); !(g <= f.tolerance()) {
				t.Errorf("seed %d, lambda %g: the gradient at the answer is %g, charged %g", seed, lambda, g,
					f.tolerance())
			}
		}
	}
	f := Fit{GLM: glm, Normaliser: 10, Lambda: 1e-9, Radius: 1, Adjacency: account.ZeroOut,
		Unit: account.Record(), Dim: 2}
	var bad *config.Error
	if err := f.Validate(); !errors.As(err, &bad) || bad.Key != "fit_lambda" {
		t.Errorf("lambda 1e-9: %v", err)
	}
}

// A target that is cut has the minimiser that it had.
func TestCutTargetsChangeNothing(t *testing.T) {
	m, _ := model.New("huber", model.Shape{Height: 1, Width: 1, Channels: 2}, func(any) error { return nil })
	glm, _ := model.Linear(m)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		f := Fit{GLM: glm, Normaliser: 30, Lambda: .05, Radius: 1, Dim: 3}
		var x, y []float64
		for range 30 {
			a := r.Float64() * 2 * math.Pi
			x, y = append(x, math.Cos(a), math.Sin(a), 1), append(y, 1000*r.NormFloat64())
		}
		plain := newNewton(glm, x, append([]float64{}, y...), 30, f.Lambda, 3)
		plain.run(1e-12)
		f.cut(y)
		cut := newNewton(glm, x, y, 30, f.Lambda, 3)
		cut.run(1e-12)
		for i := range plain.theta {
			if d := math.Abs(plain.theta[i] - cut.theta[i]); d > 1e-9 {
				t.Errorf("parameter %d moves by %g", i, d)
			}
		}
	}
}
