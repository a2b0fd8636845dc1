package audit

import (
	"context"
	"math"
	"slices"
	"sync"

	"sotto/agent"
	"sotto/algo"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// system is a small run under audit: two agents, DP-DSGD on least squares without
// intercept, Poisson batches at rate 1/4, public normaliser 2, noise twice the clip. The
// attacked owner has seven records of zeros, and the attacked one in world In. Its fields
// plant faults: each stands for one mistake that a programmer has made somewhere.
type system struct {
	dim       int
	features  []float32 // of the attacked record; its target is 1000
	replaced  bool      // world Out has the opposite record in its place
	mechanism privacy.Mechanism
	oracle    func(w Hypothesis, g *oracle.Gradient) privacy.Oracle
	ledger    func(l ledger.Ledger) ledger.Ledger // as the gate sees it
	gate      func(g *privacy.Gate, l ledger.Ledger) Gate
	forgets   bool // a crash loses the ledger
	claim     func(c *Claim)

	shared model.Model
	pool   *oracle.Pool
	alg    agent.Factory
}

const (
	testRate, testBatch, testNoise = .25, 2, 2.
	testClip, testDelta            = 1., 1e-5
	nulls                          = 7
)

func newSystem() *system {
	g, err := privacy.NewGaussian(testNoise)
	if err != nil {
		panic(err)
	}
	return &system{dim: 8, features: []float32{0, 1, 0, 0, 0, 0, 0, 0}, mechanism: g}
}

// records are the owner's: zeros, and rows of which each is one of the given features.
func (s *system) records(target float32, rows ...[]float32) oracle.Records {
	return s.among(nulls, target, rows...)
}

// among has so many records of zeros before the rows.
func (s *system) among(nulls int, target float32, rows ...[]float32) oracle.Records {
	d := &data.Dataset{X: tensor.NewMat(nulls+len(rows), s.dim), Shape: [3]int{1, 1, s.dim},
		Targets: make([]float32, nulls+len(rows))}
	r := oracle.Records{Data: d}
	for i := range d.Len() {
		r.Index = append(r.Index, int32(i))
		if i >= nulls {
			copy(d.X.Row(i), rows[i-nulls])
			d.Targets[i] = target
		}
	}
	return r
}

// model is that of the system, which all trials share.
func (s *system) model() model.Model {
	if s.shared != nil {
		return s.shared
	}
	m, err := model.New("least-squares", model.Shape{Height: 1, Width: s.dim, Channels: 1},
		func(p any) error {
			p.(*model.LinearParams).Intercept = false
			return nil
		})
	if err != nil {
		panic(err)
	}
	s.shared, s.pool = m, oracle.NewPool()
	return m
}

func (s *system) gradient(rec oracle.Records, rate float64) *oracle.Gradient {
	return &oracle.Gradient{
		Model:             s.model(),
		Records:           rec,
		SampleRate:        rate,
		ExpectedBatchSize: testBatch,
		ClipNorm:          testClip,
		Adjacency:         account.AddRemove,
		Unit:              account.Record(),
		Pool:              s.pool,
	}
}

func (s *system) ask(w Hypothesis, drawn bool) privacy.Oracle {
	rate := testRate
	if drawn {
		rate = 1
	}
	var rec oracle.Records
	switch {
	case w == In:
		rec = s.records(1000, s.features)
	case s.replaced:
		rec = s.records(-1000, s.features)
	default:
		rec = s.records(0)
	}
	g := s.gradient(rec, rate)
	if s.oracle != nil {
		return s.oracle(w, g)
	}
	return g
}

func (s *system) open(w Hypothesis, seed uint64, drawn bool) (*Party, error) {
	m := ledger.NewMemory(nil)
	return s.reopen(w, seed, drawn, m), nil
}

func (s *system) reopen(w Hypothesis, seed uint64, drawn bool, m ledger.Ledger) *Party {
	seen := m
	if s.ledger != nil {
		seen = s.ledger(m)
	}
	g := privacy.NewSimulatedGate(seen, s.mechanism, map[string]privacy.Oracle{"grad": s.ask(w, drawn)}, seed,
		0)
	p := &Party{Gate: g, Ledger: m}
	if s.gate != nil {
		p.Gate = s.gate(g, m)
	}
	p.Reopen = func() (*Party, error) {
		next := ledger.NewMemory(nil)
		if !s.forgets {
			var kept []ledger.Record
			for r, err := range m.Records() {
				if err != nil {
					return nil, err
				}
				kept = append(kept, r)
			}
			if err := next.Restore(kept); err != nil {
				return nil, err
			}
		}
		return s.reopen(w, seed, drawn, next), nil
	}
	return p
}

func (s *system) value(w Hypothesis, q *agent.Query) (tensor.Vec, error) {
	v := privacy.Value{Float: make(tensor.Vec, s.dim)}
	k := rng.Simulated(0, 0, 1)
	o := s.ask(w, true)
	r, err := o.Describe(q)
	if err != nil {
		return nil, err
	}
	o.Evaluate(&v, q, rng.NewStream(&k, rng.Sample))
	v.Narrow()
	v.Float.Scale(r.Scale, v.Float)
	return v.Float, nil
}

func (s *system) algorithm() (agent.Algorithm, error) {
	if s.alg == nil {
		f, err := algo.New("dsgd", func(p any) error {
			p.(*algo.DSGDParams).StepSize.StepSize = .5
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.alg = f
	}
	return s.alg(agent.Env{Agents: 2, Dim: s.dim, Rounds: 40, Init: make(tensor.Vec, s.dim)})
}

var pairSchedule = func() topology.Schedule {
	schedule, err := topology.New("complete", "", 2, 1, func(any) error { return nil })
	if err != nil {
		panic(err)
	}
	return schedule
}()

func (s *system) drive(a agent.Algorithm, g Gate, seed uint64, done func() bool) error {
	other, err := s.algorithm()
	if err != nil {
		return err
	}
	run, err := sim.New(sim.Config{
		Agents:   []sim.Agent{{Algorithm: a, Gate: g}, {Algorithm: other, Gate: Silent()}},
		Schedule: pairSchedule,
		Dim:      s.dim,
		Steps:    40,
		Workers:  1,
		Seed:     seed,
	})
	for err == nil && !done() && run.Done() < 40 {
		err = run.Run(context.Background(), run.Done()+1)
	}
	return err
}

// none adds nothing.
type none struct{ privacy.Mechanism }

func (none) Perturb(*privacy.Value, account.Release, privacy.Charge) {}

// population has as many records as dimensions, each with a gradient of its own.
func (s *system) population(seed uint64, q *agent.Query) (Gate, []tensor.Vec, error) {
	var rows [][]float32
	var each []tensor.Vec
	for i := range s.dim {
		x := make([]float32, s.dim)
		x[i] = 1
		rows = append(rows, x)
		v := make(tensor.Vec, s.dim)
		v[i] = -1. / testBatch // the gradient of (xθ - 1000)^2, clipped, over the normaliser
		each = append(each, v)
	}
	var o privacy.Oracle = s.gradient(s.among(0, 1000, rows...), testRate)
	if s.oracle != nil {
		o = s.oracle(In, o.(*oracle.Gradient))
	}
	return privacy.NewSimulatedGate(ledger.NewMemory(nil), none{s.mechanism},
		map[string]privacy.Oracle{"grad": o}, seed, 0), each, nil
}

// totalOf is the epsilon of 40 rounds whose noise has the parameter mu.
func totalOf(mu float64) (float64, error) {
	p := account.DPSGD(account.AddRemove, testRate, 40)
	p.NoiseMultiplier = 1 / mu
	i, err := account.Epsilon(p, testDelta)
	return i.Upper, err
}

// claimedTotal is what every system claims, composed once: tests make a hundred systems.
var claimedTotal = sync.OnceValue(func() float64 {
	all, err := totalOf(1 / testNoise)
	if err != nil {
		panic(err)
	}
	return all
})

func (s *system) target() *Target {
	t := &Target{
		Name:       "system",
		Answers:    Answers{Dim: s.dim},
		Machine:    Machine{Algorithm: s.algorithm, Drive: s.drive},
		Open:       s.open,
		Value:      s.value,
		Population: s.population,
	}
	z := testNoise * testClip / testBatch
	grid := privacy.ReleaseStep(privacy.Gaussian{NoiseMultiplier: testNoise}, account.Part{Clip: testClip})
	t.Claim = Claim{
		Delta:   testDelta,
		Sampler: account.Sampler{Kind: account.Poisson, SampleRate: testRate},
		Mu:      1 / testNoise,
		Epsilon: gdp.Epsilon(1/testNoise, testDelta),
		Total:   claimedTotal(),
		TotalOf: totalOf,
		Noise:   []Noise{{Dim: s.dim, Scale: z, CDF: normal, Grid: grid / testBatch}},
	}
	t.Claim.Sampled = t.Claim.Epsilon
	t.Account = func(l ledger.Ledger) (float64, error) {
		acc, err := account.New("pld", account.AddRemove, account.Record())
		if err != nil {
			return 0, err
		}
		for r, err := range l.Records() {
			if err != nil {
				return 0, err
			}
			if err := acc.Compose(*r.Event, int(r.Count)); err != nil {
				return 0, err
			}
		}
		i, err := acc.Epsilon(testDelta)
		return i.Upper, err
	}
	if s.claim != nil {
		s.claim(&t.Claim)
	}
	return t
}

// changed is an oracle that says one thing and does another.
type changed struct {
	privacy.Oracle
	describe func(q *agent.Query) (account.Release, error)
	evaluate func(dst *privacy.Value, q *agent.Query, sample *rng.Stream)
}

func (c *changed) Describe(q *agent.Query) (account.Release, error) {
	if c.describe == nil {
		return c.Oracle.Describe(q)
	}
	return c.describe(q)
}

func (c *changed) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	if c.evaluate == nil {
		c.Oracle.Evaluate(dst, q, sample)
		dst.Narrow()
		return
	}
	c.evaluate(dst, q, sample)
}

// perturbing is a mechanism whose event is that of the right one.
type perturbing struct {
	privacy.Mechanism
	perturb func(right privacy.Mechanism, v *privacy.Value, r account.Release, c privacy.Charge)
}

func (p perturbing) Perturb(v *privacy.Value, r account.Release, c privacy.Charge) {
	p.perturb(p.Mechanism, v, r, c)
}

// seen is a ledger whose charges go through f.
type seen struct {
	ledger.Ledger
	charge func(l ledger.Ledger, ev account.Event) (uint64, error)
}

func (s *seen) Charge(ev account.Event) (uint64, error) { return s.charge(s.Ledger, ev) }

// late charges an answer when the next round begins.
type late struct {
	*privacy.Gate
	real   ledger.Ledger
	events []account.Event
}

func (g *late) Begin(round uint64, live []agent.Neighbor) {
	for _, ev := range g.events {
		_, _ = g.real.Charge(ev)
	}
	g.events = nil
	g.Gate.Begin(round, live)
}

func toLength(v tensor.Vec, clip float64) {
	if n := v.Norm(); n > clip {
		v.Scale(clip/n, v)
	}
}

func unclipped(g *oracle.Gradient) *oracle.Gradient {
	free := *g
	free.ClipNorm = math.Inf(1)
	return &free
}

// plantNeighbor has the owner tell so many neighbors one by one what it had broadcast,
// and the last of them without noise.
func plantNeighbor(t *Target, neighbors int) {
	machine, open := t.Algorithm, t.Open
	world := Out
	t.Open = func(w Hypothesis, seed uint64, drawn bool) (*Party, error) {
		world = w
		return open(w, seed, drawn)
	}
	made := 0 // one by the scout, and three a trial, of which the first is the real one
	t.Algorithm = func() (agent.Algorithm, error) {
		a, err := machine()
		if err != nil {
			return nil, err
		}
		twin, err := machine()
		made++
		return &telling{Algorithm: a, twin: twin, neighbors: neighbors, real: made%3 == 2,
			value: func(q *agent.Query) (tensor.Vec, error) { return t.Value(world, q) }}, err
	}
}

// telling sends messages one by one, the last that of a twin.
type telling struct {
	agent.Algorithm
	twin      agent.Algorithm
	neighbors int
	real      bool
	value     func(q *agent.Query) (tensor.Vec, error)
	bare      tensor.Vec
	out       agent.Output
}

func (a *telling) Step(in *agent.Input, out *agent.Output) (err error) {
	if err := a.Algorithm.Step(in, out); err != nil {
		return err
	}
	with := *in
	if a.real && in.Kind == agent.Answer {
		with.Answer = a.bare
	}
	a.out.Reset()
	if err := a.twin.Step(&with, &a.out); err != nil {
		return err
	}
	if out.Query != nil && a.real {
		a.bare, err = a.value(out.Query)
		return err
	}
	if len(out.Outbox) != 1 || in.Kind != agent.Answer {
		return nil
	}
	all := slices.Repeat(out.Outbox, a.neighbors)
	all[a.neighbors-1] = a.out.Outbox[0]
	out.Outbox = all
	return nil
}
