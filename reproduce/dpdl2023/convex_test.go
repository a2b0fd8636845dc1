package dpdl2023

import (
	"context"
	"math"
	"testing"

	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// E‖ξ‖ of one, two and three standard normals: half-normal, Rayleigh, Maxwell.
func TestNormalNorm(t *testing.T) {
	for n, want := range map[int]float64{1: math.Sqrt(2 / math.Pi), 2: math.Sqrt(math.Pi / 2),
		3: 2 * math.Sqrt(2/math.Pi)} {
		if got := normalNorm(n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d dimensions: %.15g, want %.15g", n, got, want)
		}
	}
	if got := normalNorm(38424); math.Abs(got/math.Sqrt(38424)-1) > 1e-5 {
		t.Errorf("in 38,424 dimensions %g, want the square root, 196", got)
	}
}

// After many rounds the variance of a scalar recursion e <- a e + b ξ is b²/(1-a²):
// DP-DSGD has one with a = w_j - ηh for every eigenvalue w_j of the weights; of DP-DSGT
// the mean of the models is gradient descent on the tracked noise, with a = 1 - ηh.
func TestPredictedFloors(t *testing.T) {
	const h, s, eta = 1., .3, convexStep
	p := &problem{hessian: []float64{h, h}, optimum: []float64{.5, -.25}}
	sum := 0.
	for j := range ringAgents {
		a := (1+2*math.Cos(2*math.Pi*float64(j)/ringAgents))/3 - eta*h
		sum += 2 * eta * eta * s * s / (1 - a*a)
	}
	got := predicted(p, "dsgd", s, 1000)
	if want := math.Sqrt(sum); math.Abs(got[1000]/want-1) > 1e-12 {
		t.Errorf("DP-DSGD ends at %g, want %g", got[1000], want)
	}
	if want := math.Sqrt(ringAgents * (.25 + .0625)); math.Abs(got[0]-want) > 1e-12 {
		t.Errorf("the first distance is %g, want %g", got[0], want)
	}
	x := newMode("dsgt", h, 1, 0, s)
	for range 1000 {
		x.step()
	}
	if a, want := 1-eta*h, eta*eta*s*s; math.Abs(x.cov[0][0]*(1-a*a)/want-1) > 1e-12 {
		t.Errorf("the mean model of DP-DSGT has variance %g, want %g", x.cov[0][0], want/(1-a*a))
	}
}

// The algorithms follow the recursion: exactly without noise, up to float32; with noise
// the root mean square over 100 trials has a relative standard error of 1/√(2·100·3) or
// less (three coordinates of ten agents vary more than three independent ones): five of
// them are .2, false reject below 1e-6.
func TestAlgorithmsFollowTheRecursion(t *testing.T) {
	p, err := newQuadratic(3, .5, 2, 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	const rounds, trials = 40, 100
	for _, m := range methods {
		quiet := simulation{p, m, 0, rounds, 1}
		got, err := quiet.distances(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range predicted(p, m, 0, rounds) {
			if math.Abs(got[k]-want) > 2e-6*got[0] {
				t.Fatalf("%s, round %d: distance %.8g, want %.8g", m, k, got[k], want)
			}
		}
		var runs []simulation
		for trial := range trials {
			runs = append(runs, simulation{p, m, .4, rounds, uint64(trial)})
		}
		all, err := simulateAll(context.Background(), runs, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := predicted(p, m, .4, rounds)
		for _, k := range []int{3, 15, rounds} {
			if got := rootMeanSquare(atRound(all, k)); math.Abs(got/want[k]-1) > .2 {
				t.Errorf("%s with noise, round %d: distance %.5g, want %.5g", m, k, got, want[k])
			}
		}
	}
}

// The bound (23) holds for DP-DSGD with the dimension in D, and fails without: n d =
// 1,000 at h = 1, where the distance ends at s √(d Σ_j η²/(1-(w_j-ηh)²)) = 1.4 against
// ηs/(1-ρ) = s/h = .5.
func TestBound23(t *testing.T) {
	p, err := newQuadratic(100, 1, 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.contraction(); math.Abs(got-.9) > 1e-12 {
		t.Errorf("contraction %g, want 1-ηh = .9", got)
	}
	s := simulation{p, "dsgd", convergenceNoise, 200, 3}
	got, err := s.distances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	norm := normalNorm(ringAgents * 100)
	for k, x := range got {
		if bound := p.bound23(k, got[0], norm); x > bound {
			t.Fatalf("round %d: distance %g above the bound %g", k, x, bound)
		}
	}
	if without := p.bound23(200, got[0], 1); !(got[200] > 2*without) {
		t.Errorf("distance %g, the bound without the dimension is %g", got[200], without)
	}
}

// TestTheorem51: the error floor rises in proportion to σ and to √d. Slopes over the ends
// of the range: standard errors are below .015 (averages over 600 rounds), bounds are at
// five of them.
func TestTheorem51(t *testing.T) {
	size := floorSize{dim: 16, noise: .1, burn: 100, rounds: 600, trials: 2}
	for _, c := range []struct {
		noises []float64
		dims   []int
		x      func(*floorPoint) float64
		want   float64
	}{
		{[]float64{.01, .1}, []int{16}, func(p *floorPoint) float64 { return p.noise }, 1},
		{[]float64{.1}, []int{4, 64}, func(p *floorPoint) float64 { return float64(p.dim) }, .5},
	} {
		points, err := size.floors(context.Background(), "quadratic", 0, c.noises, c.dims)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(points); i += 2 {
			a, b := &points[i], &points[i+1]
			if got := math.Log(b.floors.Mean()/a.floors.Mean()) /
				math.Log(c.x(b)/c.x(a)); math.Abs(got-c.want) > .075 {
				t.Errorf("%s from %g to %g: slope %.4f, want %g", a.algorithm, c.x(a), c.x(b), got, c.want)
			}
			if math.Abs(b.floors.Mean()/b.exact-1) > .1 {
				t.Errorf("%s: floor %g, predicted %g", b.algorithm, b.floors.Mean(), b.exact)
			}
		}
	}
}

// The logistic optimum has gradient zero, and the stated constants bound the curvature
// between any two points.
func TestLogisticProblem(t *testing.T) {
	p, err := newLogistic(6, 2)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(theta []float64) []float64 {
		g := make([]float64, len(theta))
		m := p.data.X.Rows
		for i := range m {
			z, y := 0., 2*float64(p.data.Labels[i])-1
			for c, x := range p.data.X.Row(i) {
				z += float64(x) * theta[c]
			}
			for c, x := range p.data.X.Row(i) {
				g[c] -= y * float64(x) / (1 + math.Exp(y*z)) / float64(m)
			}
		}
		for c := range g {
			g[c] += .1 * theta[c]
		}
		return g
	}
	for c, x := range gradient(p.optimum) {
		if math.Abs(x) > 1e-12 {
			t.Errorf("the gradient at the optimum is %g in coordinate %d", x, c)
		}
	}
	other := make([]float64, 6)
	g, along, square := gradient(other), 0., 0.
	for c := range other {
		along += g[c] * -p.optimum[c]
		square += p.optimum[c] * p.optimum[c]
	}
	if h := along / square; h < p.mu || h > p.l || p.mu != .1 || p.l < .35 {
		t.Errorf("mean curvature %g from the optimum to 0, want %g to %g", h, p.mu, p.l)
	}
	quiet := simulation{p, "dsgt", 0, 2000, 1}
	got, err := quiet.distances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got[2000] > 1e-5*got[0] {
		t.Errorf("DP-DSGT without noise ends %g from the optimum", got[2000])
	}
}

// DP-DSGD at a constant step ends away from the optimum where agents differ: at the
// solution of (I-W)θ + ηh(θ-b) = 0, which for two coordinates of a ring is solved here by
// iterating in float64. DP-DSGT does not.
func TestAgentsApart(t *testing.T) {
	p, err := newQuadratic(2, 1, 1, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	b := make([][2]float64, ringAgents)
	for i, rows := range p.parts {
		for r, row := range rows {
			b[i][r] = float64(p.data.Targets[row]) / float64(p.data.X.Row(int(row))[r])
		}
	}
	theta := make([][2]float64, ringAgents)
	for range 3000 {
		next := make([][2]float64, ringAgents)
		for i := range theta {
			for r := range 2 {
				near := theta[(i+1)%ringAgents][r] + theta[(i+ringAgents-1)%ringAgents][r]
				next[i][r] = (theta[i][r]+near)/3 - convexStep*(theta[i][r]-b[i][r])
			}
		}
		theta = next
	}
	want := 0.
	for i := range theta {
		for r := range 2 {
			want += math.Pow(theta[i][r]-p.optimum[r], 2)
		}
	}
	want = math.Sqrt(want)
	for m, limit := range map[string]float64{"dsgd": want, "dsgt": 0} {
		s := simulation{p, m, 0, 500, 1}
		got, err := s.distances(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got[500]-limit) > 1e-4 {
			t.Errorf("%s ends %g from the optimum, want %g", m, got[500], limit)
		}
	}
	if want < .1 {
		t.Errorf("the agents' optima are only %g apart", want)
	}
}

// The rows of the study of Theorem 5.1 are the same bits with any number of workers.
func TestRowsOfTheorem51(t *testing.T) {
	size := floorSize{noises: []float64{.01, .1}, burn: 5, rounds: 5, trials: 2}
	var tables [2]*reproduce.Document
	for k := range tables {
		points, err := size.floors(context.Background(), "quadratic", 1+k, size.noises, []int{4})
		if err != nil {
			t.Fatal(err)
		}
		tables[k] = reproduce.NewTable(make([]string, 12)...)
		tables[k].Notes = []string{reproduce.RowNote}
		addFits(tables[k], size, "quadratic", "noise σ", 1, points, func(p *floorPoint) float64 {
			return p.noise
		})
	}
	reproducetest.CheckRows(t, "seed000-theorem51", tables)
}
