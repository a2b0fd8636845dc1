package oracle

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/model"
	"sotto/rng"
)

// glmOf is the generalized linear model of the name.
func glmOf(t *testing.T, name string) model.GLM {
	t.Helper()
	classes := 0
	if name == "logistic" {
		classes = 2
	}
	m, err := model.New(name, model.Shape{Height: 1, Width: 1, Channels: 1, Classes: classes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	glm, ok := model.Linear(m)
	if !ok {
		t.Fatalf("%s is no generalized linear model", name)
	}
	return glm
}

// task is f of n records with N(0, 1) features in d dimensions; targets are N(0, 1), or
// signs.
func task(t *testing.T, name string, n, d int, seed uint64) *meanLoss {
	t.Helper()
	r := rng.Public(seed, "operators")
	f := &meanLoss{glm: glmOf(t, name), normaliser: float64(n), clip: math.Inf(1), tolerance: 1e-13,
		x: make([]float64, n*d), y: make([]float64, n)}
	r.Normals(f.x)
	r.Normals(f.y)
	if name == "logistic" {
		for i, y := range f.y {
			f.y[i] = math.Copysign(1, y)
		}
	}
	return f
}

// slopes are the derivatives of the losses, written down again.
var slopes = map[string]func(z, y float64) float64{
	"logistic":      func(z, y float64) float64 { return -y / (1 + math.Exp(y*z)) },
	"least-squares": func(z, y float64) float64 { return 2 * (z - y) },
	"huber":         func(z, y float64) float64 { return math.Max(-1, math.Min(1, z-y)) },
}

// smoothness is a bound of the second derivative of f.
func (f *meanLoss) smoothness(curvature float64, d int) float64 {
	return curvature * math.Pow(spectral(mat.NewDense(len(f.y), d, f.x)), 2) / f.normaliser
}

// spectral is the largest singular value.
func spectral(m *mat.Dense) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		panic("no singular values")
	}
	return svd.Values(nil)[0]
}

func apply(operator string, f *meanLoss, gamma, l1 float64, at []float64) []float64 {
	r := make([]float64, len(at))
	Operators[operator](&splitting{f, gamma, gamma * l1}, r, at)
	for i := range r {
		r[i] += at[i]
	}
	return r
}

func distance(x, y []float64) float64 {
	s := 0.
	for i := range x {
		s = math.Hypot(s, x[i]-y[i])
	}
	return s
}

// 0 = ∇f(u) + (u - v)/γ at u = prox_{γf}(v), with gradients written down again; and u - x
// + t∂|u| contains 0 at the soft threshold.
func TestProximalOperatorsAreOptimal(t *testing.T) {
	const d, gamma = 6, .7
	for name, slope := range slopes {
		f := task(t, name, 30, d, 1)
		v := make([]float64, d)
		rng.Public(2, "point").Normals(v)
		u := apply(Backward, f, gamma, 0, v)
		left := make([]float64, d)
		for i := range left {
			left[i] = (u[i] - v[i]) / gamma
		}
		for r, y := range f.y {
			x := f.x[r*d : (r+1)*d]
			s := slope(inner(x, u), y)
			for i := range left {
				left[i] += s * x[i] / 30
			}
		}
		if norm(left) > 1e-12 {
			t.Errorf("%s: the optimality condition is missed by %g", name, norm(left))
		}
	}
	for _, x := range []float64{-3, -.5, -.2, 0, .1, .5, 2} {
		u := soft(x, .5)
		if g := (x - u) / .5; u != 0 && g != math.Copysign(1, u) || math.Abs(g) > 1 {
			t.Errorf("soft(%g, .5) = %g: (x - u)/t = %g is no subgradient of |u|", x, u, g)
		}
	}
}

// T moves no two points apart: γ = 2/Λ for forward operators, any for the others. Clipped
// gradients keep that. At γ = 2.5/Λ the forward step does move points apart.
func TestOperatorsAreNonexpansive(t *testing.T) {
	const d = 5
	curvature := map[string]float64{"logistic": .25, "least-squares": 2, "huber": 1}
	for name := range slopes {
		f := task(t, name, 20, d, 3)
		largest := f.smoothness(curvature[name], d)
		clipped := task(t, name, 20, d, 3)
		clipped.clip = .5
		worst := func(operator string, f *meanLoss, gamma float64) float64 {
			r, ratio := rng.Public(4, operator), 0.
			x, y := make([]float64, d), make([]float64, d)
			for range 60 {
				r.Normals(x)
				r.Normals(y)
				ratio = max(ratio, distance(apply(operator, f, gamma, .1, x),
					apply(operator, f, gamma, .1, y))/distance(x, y))
			}
			return ratio
		}
		for _, c := range []struct {
			operator string
			f        *meanLoss
			gamma    float64
		}{
			{Forward, f, 2 / largest}, {ForwardBackward, f, 2 / largest}, {Forward, clipped, 2 / largest},
			{ForwardBackward, clipped, 2 / largest},
			{Backward, f, 3}, {DouglasRachford, f, 3},
		} {
			c.f.factor = nil
			if ratio := worst(c.operator, c.f, c.gamma); ratio > 1+1e-12 {
				t.Errorf("%s of %s: distances grow by 1 + %g", c.operator, name, ratio-1)
			}
		}
	}
	f := task(t, "least-squares", 20, d, 3)
	largest := f.smoothness(2, d)
	x := mat.NewDense(20, d, f.x)
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		t.Fatal("no singular vectors")
	}
	var v mat.Dense
	svd.VTo(&v)
	along := mat.Col(nil, 0, &v)
	zero := make([]float64, d)
	if ratio := distance(apply(Forward, f, 2.5/largest, 0, along),
		apply(Forward, f, 2.5/largest, 0, zero)); ratio < 1.4 {
		t.Errorf("a forward step of 2.5/Λ moves points apart by %g, want 1.5", ratio)
	}
}

// iterate returns a fixed point of x <- x + (T(x) - x)/2.
func iterate(operator string, f *meanLoss, gamma, l1 float64, d, steps int) []float64 {
	f.factor = nil
	x := make([]float64, d)
	for range steps {
		for i, y := range apply(operator, f, gamma, l1, x) {
			x[i] += (y - x[i]) / 2
		}
	}
	return x
}

// Forward-backward splitting and the z-form of Douglas-Rachford find the same solution of
// LASSO and of logistic regression, which is a fixed point of the form in x of the
// earlier submission as well, and satisfies 0 in ∇f(x) + λ∂|x|.
func TestOperatorsFindTheSameSolution(t *testing.T) {
	const d, l1 = 6, .3
	for name, slope := range slopes {
		f := task(t, name, 40, d, 5)
		ista := iterate(ForwardBackward, f, 1/f.smoothness(2, d), l1, d, 20_000)
		z := iterate(DouglasRachford, f, .8, l1, d, 4000)
		dr := make([]float64, d)
		for i := range z {
			dr[i] = soft(z[i], .8*l1)
		}
		if gap := distance(ista, dr); gap > 1e-8 {
			t.Errorf("%s: the solutions are %g apart", name, gap)
		}
		g := make([]float64, d)
		for r, y := range f.y {
			s := slope(inner(f.x[r*d:(r+1)*d], ista), y)
			for i := range g {
				g[i] += s * f.x[r*d+i] / 40
			}
		}
		zeros := 0
		for i, x := range ista {
			if x == 0 {
				zeros++
			}
			if x != 0 && math.Abs(g[i]+math.Copysign(l1, x)) > 1e-8 || math.Abs(g[i]) > l1+1e-8 {
				t.Errorf("%s: coordinate %d is %g where the gradient is %g", name, i, x, g[i])
			}
		}
		if zeros == 0 || zeros == d {
			t.Errorf("%s: %d of %d coordinates are 0, so that the threshold is not put to the test", name,
				zeros, d)
		}
		// (I+γ∂f)^-1 [(I+γ∂g)^-1 (x - γ∇f x) + γ∇f x]
		const gamma = .2
		f.factor = nil
		inside := make([]float64, d)
		for i, x := range ista {
			inside[i] = soft(x-gamma*g[i], gamma*l1) + gamma*g[i]
		}
		if gap := distance(ista, apply(Backward, f, gamma, 0, inside)); gap > 1e-8 {
			t.Errorf("%s: the form in x moves the solution by %g", name, gap)
		}
	}
}

// ringW is the Metropolis matrix of a ring of n agents.
func ringW(n int) *mat.Dense {
	w := mat.NewDense(n, n, nil)
	for i := range n {
		w.Set(i, i, 1./3)
		w.Set(i, (i+1)%n, 1./3)
		w.Set(i, (i+n-1)%n, 1./3)
	}
	return w
}

// forwardEnd solves for where x = Wx + α r(x) ends, of forward steps with αγ = step, and
// for the minimiser of the mean loss.
func forwardEnd(t *testing.T, parts []*meanLoss, w mat.Matrix, d int, step float64) (want,
	minimiser mat.VecDense) {
	t.Helper()
	n := len(parts)
	whole, right := mat.NewDense(n*d, n*d, nil), mat.NewVecDense(n*d, nil)
	common, b := mat.NewDense(d, d, nil), mat.NewVecDense(d, nil)
	for i, f := range parts {
		x := mat.NewDense(12, d, f.x)
		var h, xy mat.Dense
		h.Mul(x.T(), x)
		xy.Mul(x.T(), mat.NewDense(12, 1, f.y))
		for r := range d {
			right.SetVec(i*d+r, step*2/12*xy.At(r, 0))
			b.SetVec(r, b.AtVec(r)+xy.At(r, 0))
			for c := range d {
				whole.Set(i*d+r, i*d+c, step*2/12*h.At(r, c))
				common.Set(r, c, common.At(r, c)+h.At(r, c))
			}
			for j := range n {
				same := 0.
				if i == j {
					same = 1
				}
				whole.Set(i*d+r, j*d+r, whole.At(i*d+r, j*d+r)+same-w.At(i, j))
			}
		}
	}
	if err := want.SolveVec(whole, right); err != nil {
		t.Fatal(err)
	}
	if err := minimiser.SolveVec(common, b); err != nil {
		t.Fatal(err)
	}
	return want, minimiser
}

// Without noise the agents' forward iteration on quadratics ends where ((I-W)⊗I + αγH) x
// = αγb, H and b those of the agents, which gonum solves. There the residuals sum to 0,
// and disagreement and the distance of the mean from the common minimiser are of order α:
// they fall tenfold when α does (within a fifth, which higher orders of α may add).
func TestForwardFixedPoint(t *testing.T) {
	const n, d, gamma = 5, 3, .1
	w := ringW(n)
	var parts []*meanLoss
	for i := range n {
		parts = append(parts, task(t, "least-squares", 12, d, uint64(10+i)))
	}
	var spreads, errors []float64
	for _, alpha := range []float64{.3, .03, .003} {
		want, minimiser := forwardEnd(t, parts, w, d, alpha*gamma)
		x := mat.NewDense(n, d, nil)
		residuals := mat.NewDense(n, d, nil)
		for range int(300 / alpha) {
			for i, f := range parts {
				Operators[Forward](&splitting{f, gamma, 0}, residuals.RawRowView(i), x.RawRowView(i))
			}
			var next mat.Dense
			next.Mul(w, x)
			residuals.Scale(alpha, residuals)
			next.Add(&next, residuals)
			residuals.Scale(1/alpha, residuals)
			x = &next
		}
		gap, spread, off := 0., 0., 0.
		for r := range d {
			mean, sum := 0., 0.
			for i := range n {
				mean += x.At(i, r) / n
				sum += residuals.At(i, r)
				gap = max(gap, math.Abs(x.At(i, r)-want.AtVec(i*d+r)))
			}
			if math.Abs(sum/n) > 1e-12 {
				t.Errorf("alpha %g: the mean residual is %g", alpha, sum/n)
			}
			off = math.Hypot(off, mean-minimiser.AtVec(r))
			for i := range n {
				spread = math.Hypot(spread, x.At(i, r)-mean)
			}
		}
		if gap > 1e-10 {
			t.Errorf("alpha %g: the iteration ends %g from the solution of the linear system", alpha, gap)
		}
		spreads, errors = append(spreads, spread), append(errors, off)
	}
	for k := 1; k < 3; k++ {
		if f := spreads[k-1] / spreads[k]; f < 8 || f > 12 {
			t.Errorf("disagreement falls by %g, want about 10: %v", f, spreads)
		}
		if f := errors[k-1] / errors[k]; f < 8 || f > 12 {
			t.Errorf("the error of the mean falls by %g, want about 10: %v", f, errors)
		}
	}
}
