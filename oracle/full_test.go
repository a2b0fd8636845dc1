package oracle_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// points are n records of dim features and a label each, none of them special.
func points(n, dim int) *data.Dataset {
	d := &data.Dataset{
		X:       tensor.NewMat(n, dim),
		Shape:   [3]int{1, 1, dim},
		Classes: 2,
		Labels:  make([]int32, n),
	}
	for i := range d.X.Data {
		d.X.Data[i] = float32(math.Sin(float64(3*i + 1)))
	}
	for i := range d.Labels {
		d.Labels[i] = int32(i*i) % 3 % 2
	}
	return d
}

func rows(n int) (index []int32) {
	for i := range n {
		index = append(index, int32(i))
	}
	return index
}

func logisticModel(t *testing.T, dim int) model.Model {
	t.Helper()
	m, err := model.New("logistic", model.Shape{Height: 1, Width: dim, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func full(t *testing.T, d *data.Dataset, index []int32, norm account.Norm, clip float64) *oracle.Full {
	t.Helper()
	f := &oracle.Full{
		Model:      logisticModel(t, d.X.Cols),
		Records:    oracle.Records{Data: d, Index: index},
		Normaliser: 10,
		ClipNorm:   clip,
		Norm:       norm,
		Adjacency:  account.ReplaceOne,
		Unit:       account.Record(),
		Pool:       oracle.NewPool(),
	}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	return f
}

// reference is the clipped sum of logistic gradients in double precision.
func reference(d *data.Dataset, index []int32, theta tensor.Vec, norm account.Norm, clip float64) []float64 {
	sum := make([]float64, len(theta))
	for _, r := range index {
		x, z := d.X.Row(int(r)), 0.
		for k, v := range x {
			z += float64(v) * float64(theta[k])
		}
		y := float64(2*d.Labels[r] - 1)
		slope := -y / (1 + math.Exp(y*z))
		size := 0.
		for _, v := range x {
			if norm == account.L1 {
				size += math.Abs(slope * float64(v))
			} else {
				size += slope * float64(v) * slope * float64(v)
			}
		}
		if norm == account.L2 {
			size = math.Sqrt(size)
		}
		factor := min(1, clip/size)
		for k, v := range x {
			sum[k] += factor * slope * float64(v)
		}
	}
	return sum
}

func answer(f *oracle.Full, theta tensor.Vec) tensor.Vec {
	v := privacy.Value{Float: make(tensor.Vec, len(theta))}
	f.Evaluate(&v, &agent.Query{At: theta}, nil)
	v.Narrow()
	return v.Float
}

// Records in a row and records here and there give the clipped sum, in either norm and in
// integers.
func TestFullGradient(t *testing.T) {
	const n, dim = 400, 13
	d := points(n, dim)
	theta := make(tensor.Vec, dim)
	for k := range theta {
		theta[k] = float32(k)/5 - 1
	}
	var odd []int32
	for i := int32(1); i < n; i += 2 {
		odd = append(odd, i)
	}
	for name, index := range map[string][]int32{"in a row": rows(n)[7:393], "apart": odd, "one": {5},
		"none": nil} {
		for _, norm := range []account.Norm{account.L1, account.L2} {
			for _, clip := range []float64{.3, 1e6} {
				f := full(t, d, index, norm, clip)
				want := reference(d, index, theta, norm, clip)
				grid := make([]int64, dim)
				f.EvaluateGrid(grid, &agent.Query{At: theta}, nil)
				// clips are a hundred-thousandth short
				near := 1e-6 + 1.2e-5*float64(len(index))*min(clip, .1)
				for k, x := range answer(f, theta) {
					if math.Abs(float64(x)-want[k]) > near {
						t.Errorf("%s, %v, clip %g: coordinate %d is %g, want %g", name, norm, clip, k, x,
							want[k])
					}
					exact := float64(grid[k]) * privacy.GridStep(clip)
					if math.Abs(exact-want[k]) > near+2*float64(len(index))*privacy.GridStep(clip) {
						t.Errorf("%s, %v, clip %g: coordinate %d is %g in integers, want %g", name, norm,
							clip, k, exact, want[k])
					}
				}
			}
		}
	}
}

// No record adds more than the clip, whatever it holds: one that is not finite adds
// nothing.
func TestFullGradientSensitivity(t *testing.T) {
	const dim = 50
	theta := make(tensor.Vec, dim)
	for _, norm := range []account.Norm{account.L1, account.L2} {
		for _, scale := range []float64{1e-30, 1, 7, 1e10, 1e30, math.Inf(1), math.NaN()} {
			d := points(1, dim)
			d.X.Row(0).Scale(scale, d.X.Row(0))
			f := full(t, d, rows(1), norm, .7)
			size, steps := 0., 0.
			grid := make([]int64, dim)
			f.EvaluateGrid(grid, &agent.Query{At: theta}, nil)
			for k, x := range answer(f, theta) {
				if norm == account.L1 {
					size, steps = size+math.Abs(float64(x)), steps+math.Abs(float64(grid[k]))
				} else {
					size, steps = math.Hypot(size, float64(x)), math.Hypot(steps, float64(grid[k]))
				}
			}
			if !(size <= .7) || !(steps <= 1<<20) {
				t.Errorf("%v, features times %g: the record adds %g, and %g steps", norm, scale, size, steps)
			}
			if finite := scale >= 7 && scale <= 1e30; finite && (size < .69 || steps < .99*(1<<20)) {
				t.Errorf("%v, features times %g: the record adds %g and %g steps only", norm, scale, size,
					steps)
			}
		}
	}
}

func TestFullDescribe(t *testing.T) {
	f := full(t, points(3, 4), rows(3), account.L1, .5)
	r, err := f.Describe(&agent.Query{At: make(tensor.Vec, 4)})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Parts[0]; r.Oracle != "grad-full-l1" || r.Sampler.Kind != account.FullBatch ||
		p.Norm != account.L1 || p.Shift != 2 || p.Clip != .5 || r.Scale != .1 {
		t.Errorf("%+v", r)
	}
	if r, _ = f.Describe(&agent.Query{At: make(tensor.Vec, 4), Clip: 3}); r.Parts[0].Clip != 3 {
		t.Errorf("a query's own clip: %+v", r)
	}
	if _, err := f.Describe(&agent.Query{At: make(tensor.Vec, 5)}); err == nil {
		t.Error("a point of wrong length was described")
	}
	m, err := privacy.NewMechanism("laplace", 4)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := m.Event(r)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.New("pld", account.ReplaceOne, account.Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.Compose(ev, 3); err != nil {
		t.Fatal(err)
	}
	eps, err := acc.Epsilon(0)
	if err != nil || math.Abs(eps.Upper-3*2./4) > 1e-4 {
		t.Errorf("three answers with Laplace noise of scale 4 clips cost %v, want 1.5: %v", eps, err)
	}
}

func fitOracle(t *testing.T, name string, d *data.Dataset, index []int32, lambda, radius float64,
	params func(any) error) *oracle.Fit {
	t.Helper()
	m, err := model.New(name, model.Shape{Height: 1, Width: d.X.Cols, Channels: 1, Classes: d.Classes},
		params)
	if err != nil {
		t.Fatal(err)
	}
	glm, ok := model.Linear(m)
	if !ok {
		t.Fatalf("%s is no generalized linear model", name)
	}
	f := &oracle.Fit{
		GLM:        glm,
		Records:    oracle.Records{Data: d, Index: index},
		Normaliser: float64(max(1, len(index))),
		Lambda:     lambda,
		Radius:     radius,
		Adjacency:  account.ReplaceOne,
		Unit:       account.Record(),
		Dim:        m.Dim(),
	}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	return f
}

func minimiser(f *oracle.Fit) tensor.Vec {
	v := privacy.Value{Float: make(tensor.Vec, f.Dim)}
	f.Evaluate(&v, &agent.Query{At: make(tensor.Vec, f.Dim)}, rng.Public(1, "unused"))
	return v.Float
}

// At the answer the gradient of the regularised loss, formed here, is zero to float32;
// least squares agree with the normal equations' solution in one dimension.
func TestFitIsTheMinimiser(t *testing.T) {
	const n, dim = 60, 12
	d := points(n, dim)
	for _, lambda := range []float64{1e-4, 1. / n, 1} {
		theta := minimiser(fitOracle(t, "logistic", d, rows(n), lambda, math.Inf(1), nil))
		for k, g := range reference(d, rows(n), theta, account.L2, math.Inf(1)) {
			if total := g/n + 2*lambda*float64(theta[k]); math.Abs(total) >
				3e-7*(1+2*lambda*math.Abs(float64(theta[k]))) {
				t.Errorf("λ = %g: gradient %g at coordinate %d", lambda, total, k)
			}
		}
	}
	line := &data.Dataset{X: tensor.NewMat(3, 1), Shape: [3]int{1, 1, 1}, Targets: []float32{1, 2, 4}}
	copy(line.X.Data, []float32{1, 2, 3})
	// (1/3) Σ (x θ - y)² + λ θ²: θ = Σxy / (Σx² + 3λ) = 17 / (14 + 3λ).
	if got := minimiser(fitOracle(t, "least-squares", line, rows(3), .5, math.Inf(1),
		nil))[0]; math.Abs(float64(got)-17/15.5) > 1e-6 {
		t.Errorf("least squares: %g, want %g", got, 17/15.5)
	}
	// Huber with small residuals is half of least squares: (1/3) Σ r²/2 + λ θ², θ = 17 /
	// (14 + 6λ).
	huber := func(p any) error { p.(*model.HuberParams).Delta = 100; return nil }
	if got := minimiser(fitOracle(t, "huber", line, rows(3), .5, math.Inf(1),
		huber))[0]; math.Abs(float64(got)-17/17.) > 1e-6 {
		t.Errorf("huber: %g, want 1", got)
	}
	// Far from all data every slope is delta: (1/3) Σ δ|x| - 2 λ θ = 0 holds for θ below
	// the residuals' range.
	huber = func(p any) error { p.(*model.HuberParams).Delta = 1e-3; return nil }
	if got, want := minimiser(fitOracle(t, "huber", line, rows(3), .5, math.Inf(1), huber))[0],
		6e-3/3/(2*.5); math.Abs(float64(got)-want) > 1e-8 {
		t.Errorf("huber with delta 0.001: %g, want %g", got, want)
	}
}

// The sensitivity holds: among neighbors of data sets at the extreme point (all records
// alike, one turned around, at the radius) the largest move is close to it and never
// beyond.
func TestFitSensitivity(t *testing.T) {
	for _, m := range []int{1, 5, 40} {
		for _, lambda := range []float64{.01, .3, 2} {
			for _, a := range []account.Adjacency{account.ReplaceOne, account.ZeroOut} {
				worst := 0.
				var bound float64
				for _, size := range []float64{1e-3, .1, 1, 100} {
					for _, turned := range []float64{-1, 0, 1} {
						make2 := func(last float64) *oracle.Fit {
							d := points(m, 2)
							for r := range m {
								copy(d.X.Row(r), []float32{float32(size), 0})
								d.Labels[r] = int32(r % 2)
							}
							copy(d.X.Row(m-1), []float32{float32(size * last), 0})
							d.Labels[m-1] = 1
							f := fitOracle(t, "logistic", d, rows(m), lambda, 1, nil)
							f.Adjacency = a
							return f
						}
						one, other := make2(1), make2(turned)
						if a == account.ZeroOut && turned != 0 {
							continue
						}
						x, y := minimiser(one), minimiser(other)
						worst = max(worst, math.Hypot(float64(x[0]-y[0]), float64(x[1]-y[1])))
						r, err := one.Describe(&agent.Query{At: x})
						if err != nil {
							t.Fatal(err)
						}
						bound = r.Parts[0].Clip * r.Parts[0].Shift
					}
				}
				if worst > bound {
					t.Errorf("m = %d, λ = %g, %v: the minimiser moves by %g, the release states %g", m,
						lambda, a, worst, bound)
				}
				if lambda == 2 && worst < bound/4 {
					t.Errorf("m = %d, λ = %g, %v: the minimiser moves by %g at most, the release states %g",
						m, lambda, a, worst, bound)
				}
				if want := map[account.Adjacency]float64{account.ReplaceOne: 1, account.ZeroOut: .5}[a] /
					(float64(m) * lambda); math.Abs(bound/want-1) > 1e-4 {
					t.Errorf("m = %d, λ = %g, %v: sensitivity %g, want 2G/(m 2λ) = %g", m, lambda, a, bound,
						want)
				}
			}
		}
	}
}

// A loss whose gradients nothing bounds has no sensitivity: mechanisms with noise refuse
// it. Records that are not finite are left out, and an owner without records has the
// minimiser zero.
func TestFitIsTotal(t *testing.T) {
	d := points(4, 3)
	d.X.Row(1)[2] = float32(math.NaN())
	d.X.Row(2)[0] = float32(math.Inf(1))
	got := minimiser(fitOracle(t, "logistic", d, rows(4), .1, 1, nil))
	f := fitOracle(t, "logistic", d, []int32{0, 3}, .1, 1, nil)
	f.Normaliser = 4
	if want := minimiser(f); !slices.Equal(got, want) {
		t.Errorf("with records that are not finite %v, without them %v", got, want)
	}
	if got := minimiser(fitOracle(t, "logistic", d, nil, .1, 1, nil)); got.Norm() != 0 {
		t.Errorf("no records: %v", got)
	}
	squares := &data.Dataset{X: tensor.NewMat(1, 1), Shape: [3]int{1, 1, 1}, Targets: []float32{1}}
	r, err := fitOracle(t, "least-squares", squares, rows(1), .1, 1,
		nil).Describe(&agent.Query{At: tensor.Vec{0}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := privacy.NewGaussian(1)
	if err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := m.Event(r); !errors.As(err, &bad) {
		t.Errorf("noise on a least squares fit: %v", err)
	}
}
