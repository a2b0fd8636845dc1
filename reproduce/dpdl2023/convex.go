package dpdl2023

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/internal/parallel"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/reproduce"
	"sotto/sim"
	"sotto/tensor"
)

// Strongly convex problems, and simulations of the learning algorithms on them: the same
// state machines, gates and oracles as in any run, with whole data sets for batches, so
// that the Gaussian noise is all the noise there is.

const (
	ringAgents = 10
	convexStep = .1 // of every algorithm, constant
	dinnoRho   = .5
)

// problem is a sum of one strongly convex function for each of ringAgents agents, with
// constants that are known.
type problem struct {
	name string
	// settings of a run file: the model and data of as many records
	settings []string
	data     *data.Dataset
	parts    [][]int32 // records of each agent, equally many
	decay    float64   // λ: every agent's function has a public term λ/2‖θ‖²
	clip     float64   // above every record's gradient, so that clipping does nothing
	optimum  []float64
	mu, l    float64   // strong convexity and smoothness of every agent's function
	hessian  []float64 // h_r of a quadratic; nil for others
}

// newQuadratic returns Σ_r h_r/2 (θ_r - b_ir)² at agent i, h from low to high (data set
// "quadratics").
func newQuadratic(dim int, low, high, spread float64, seed uint64) (*problem, error) {
	params := data.QuadraticsParams{
		Agents:       ringAgents,
		Dim:          dim,
		CurvatureMin: low,
		CurvatureMax: high,
		Spread:       spread,
	}
	split, err := data.Load("quadratics", "", seed, func(p any) error {
		*p.(*data.QuadraticsParams) = params
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &problem{name: "quadratic", data: split.Train, mu: low, l: high}
	for r := range dim {
		p.optimum = append(p.optimum, float64(split.GroundTruth.Data[r]))
		p.hessian = append(p.hessian, params.Curvature(r))
	}
	p.parts = make([][]int32, ringAgents)
	for row, g := range split.Train.Groups {
		p.parts[g] = append(p.parts[g], int32(row))
	}
	const reach = 16 // |θ_r - b_ir| is below: minimisers are in [-1, 1], or four times as far with spread 1
	p.clip = reach * float64(dim) * high
	p.settings = []string{`model.name="least-squares"`, `data.dataset="quadratics"`,
		fmt.Sprintf("data.dim=%d", dim)}
	return p, nil
}

// newLogistic returns a logistic regression with λ = .1 that is the same at every agent:
// labels follow two of dim features, one in twenty is wrong, and features have norm √dim,
// so that they have variance 1 in every dimension.
func newLogistic(dim int, seed uint64) (*problem, error) {
	records := max(64, 8*dim)
	split, err := data.Load("linear-tasks", "", seed, func(p any) error {
		*p.(*data.LinearTasksParams) = data.LinearTasksParams{
			Agents:     1,
			Dim:        dim,
			MinRecords: records,
			MaxRecords: records,
			Flip:       .05,
			Test:       1,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &problem{name: "logistic", data: split.Train, decay: .1}
	p.clip = 1.01 * math.Sqrt(float64(dim)) // a gradient is no longer than its record
	features := tensor.Vec(p.data.X.Data)
	features.Scale(math.Sqrt(float64(dim)), features)
	all := make([]int32, records)
	for i := range all {
		all[i] = int32(i)
	}
	for range ringAgents {
		p.parts = append(p.parts, all)
	}
	p.settings = []string{`model.name="logistic"`, `data.dataset="linear-tasks"`,
		fmt.Sprintf("data.agents=%d", ringAgents), fmt.Sprintf("data.dim=%d", dim), "data.test=1",
		fmt.Sprintf("data.records_min=%d", records), fmt.Sprintf("data.records_max=%d", records)}
	return p, p.solveLogistic()
}

// solveLogistic finds the minimiser by Newton's method, and the constants: each record
// adds at most xxᵀ/4 to the Hessian.
func (p *problem) solveLogistic() error {
	m, dim := p.data.X.Rows, p.data.X.Cols
	x := mat.NewDense(m, dim, nil)
	for i := range m {
		for c, v := range p.data.X.Row(i) {
			x.Set(i, c, float64(v))
		}
	}
	var gram mat.SymDense
	gram.SymOuterK(1/float64(4*m), x.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, false) {
		return fmt.Errorf("%s: the eigenvalues of %d features were not found", p.name, dim)
	}
	values := eigen.Values(nil)
	p.mu, p.l = p.decay, p.decay+values[dim-1]

	theta := mat.NewVecDense(dim, nil)
	for range 50 {
		gradient, hessian := p.derivatives(x, theta)
		var chol mat.Cholesky
		if !chol.Factorize(hessian) {
			return fmt.Errorf("%s: the Hessian is not positive definite", p.name)
		}
		var move mat.VecDense
		if err := chol.SolveVecTo(&move, gradient); err != nil {
			return err
		}
		theta.SubVec(theta, &move)
		if mat.Norm(&move, 2) < 1e-13 {
			break
		}
	}
	p.optimum = theta.RawVector().Data
	return nil
}

// derivatives are those of (1/m) Σ ln(1+exp(-y x·θ)) + λ/2‖θ‖².
func (p *problem) derivatives(x *mat.Dense, theta *mat.VecDense) (*mat.VecDense, *mat.SymDense) {
	m, dim := x.Dims()
	var z mat.VecDense
	z.MulVec(x, theta)
	gradient, scaled := mat.NewVecDense(dim, nil), mat.NewDense(m, dim, nil)
	gradient.ScaleVec(p.decay, theta)
	for i := range m {
		y := 2*float64(p.data.Labels[i]) - 1
		wrong := 1 / (1 + math.Exp(y*z.AtVec(i)))
		gradient.AddScaledVec(gradient, -y*wrong/float64(m), x.RowView(i))
		s := math.Sqrt(wrong * (1 - wrong) / float64(m))
		for c := range dim {
			scaled.Set(i, c, s*x.At(i, c))
		}
	}
	hessian := mat.NewSymDense(dim, nil)
	hessian.SymOuterK(1, scaled.T())
	for c := range dim {
		hessian.SetSym(c, c, hessian.At(c, c)+p.decay)
	}
	return gradient, hessian
}

// simulation is one run of an algorithm on a problem.
type simulation struct {
	p         *problem
	algorithm string
	noise     float64 // standard deviation of every coordinate of every answer; 0: none
	rounds    int
	seed      uint64
}

// regularised adds the gradient λθ of a public term to the answers of a gate.
type regularised struct {
	sim.Gate
	decay float64
}

func (g regularised) Answer(q *agent.Query, dst tensor.Vec) error {
	if err := g.Gate.Answer(q, dst); err != nil {
		return err
	}
	dst.AddScaled(g.decay, q.At)
	return nil
}

// distances runs the simulation and returns, for each round from 0 on, ‖θ - 1⊗θ*‖ over
// all agents' models.
func (s *simulation) distances(ctx context.Context) ([]float64, error) {
	run, err := s.start()
	if err != nil {
		return nil, err
	}
	out := []float64{s.distance(run)}
	for k := range s.rounds {
		if err := run.Run(ctx, uint64(k+1)); err != nil {
			return nil, err
		}
		out = append(out, s.distance(run))
	}
	return out, nil
}

// convexBase are whole data sets for batches on a ring with Metropolis weights. DP-DiNNO
// takes plain gradient steps: with the Adam of the publication, which forgets its
// moments, a step is the sign of the gradient, and there is no rate.
const convexBase = `
name = "convex"

[topology]
graph = "ring"

[data]
partition = "natural"

[privacy]
adjacency = "zero-out"
sample_rate = 1.0
target_delta = 1e-5
`

// experiment is the simulation as a run file. Its records are those of the problem where
// agents share them, see start.
func (s *simulation) experiment() (*experiment.Experiment, error) {
	settings := slices.Clone(s.p.settings)
	set := reproduce.Setter(&settings)
	set("seed=%d", s.seed)
	set("rounds=%d", s.rounds)
	set("topology.agents=%d", ringAgents)
	set("algorithm.name=%q", s.algorithm)
	set("algorithm.step_size=%g", convexStep)
	if s.algorithm == "dinno" {
		set(`algorithm.optimizer="sgd"`)
		set("algorithm.rho=%g", dinnoRho)
	}
	if s.noise == 0 {
		set(`privacy.mechanism="none"`)
	} else {
		set("privacy.max_grad_norm=%s", reproduce.Exactly(s.p.clip))
		set("privacy.noise_multiplier=%s", reproduce.Exactly(s.noise*float64(len(s.p.parts[0]))/s.p.clip))
	}
	return reproduce.Build(convexBase, settings, "")
}

// start seats every agent over the problem's records, at zero.
func (s *simulation) start() (sim.Runtime, error) {
	e, err := s.experiment()
	if err != nil {
		return nil, err
	}
	clear(e.Task.Init)
	var agents []sim.Agent
	pool := oracle.NewPool()
	for i := range ringAgents {
		p, err := e.Party(experiment.Seat{
			Self:    agent.ID(i),
			Records: oracle.Records{Data: s.p.data, Index: s.p.parts[i]},
			Ledger:  ledger.NewMemory(nil),
			Keys:    privacy.SimulatedKeys(s.seed),
			Pool:    pool,
		})
		if err != nil {
			return nil, err
		}
		agents = append(agents, sim.Agent{Algorithm: p.Algorithm, Gate: regularised{p.Gate, s.p.decay}})
	}
	return run.NewRuntime(e, agents, s.seed, 1)
}

func (s *simulation) distance(run sim.Runtime) float64 {
	sum := 0.
	for i := range ringAgents {
		for r, x := range run.Model(i) {
			e := float64(x) - s.p.optimum[r]
			sum += e * e
		}
	}
	return math.Sqrt(sum)
}

// simulateAll runs simulations on as many goroutines as there are workers, 0 for one for
// each processor, and returns their distances in order.
func simulateAll(ctx context.Context, runs []simulation, workers int) ([][]float64, error) {
	out := make([][]float64, len(runs))
	err := parallel.For(len(runs), workers, func(i int) (err error) {
		out[i], err = runs[i].distances(ctx)
		return err
	})
	return out, err
}
