package algo_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// solution is the minimiser of Q in double precision, for the first coordinate (the k-th
// is k+1 times that): the system D_ii (1 + μ c_i (h_i + 2 λ_i)) Θ_i - Σ_j W_ij Θ_j = D_ii
// μ c_i h_i b_i. With prop it is model propagation's, where h is 1 and there is no
// regulariser.
func solution(t *testing.T, mu float64, prop bool) []float64 {
	t.Helper()
	a, y := mat.NewDense(personalAgents, personalAgents, nil), mat.NewVecDense(personalAgents, nil)
	for i := range personalAgents {
		h, lambda := .1+float64(i%4)/5, 1/float64(records(i))
		if prop {
			h, lambda = 1, 0
		}
		c, d := float64(records(i))/maxRecords, 0.
		for j := range personalAgents {
			if i != j {
				a.Set(i, j, -weights(i, j))
				d += weights(i, j)
			}
		}
		a.Set(i, i, d*(1+mu*c*(h+2*lambda)))
		y.SetVec(i, d*mu*c*h*math.Sin(float64(i)))
	}
	var x mat.VecDense
	if err := x.SolveVec(a, y); err != nil {
		t.Fatal(err)
	}
	return x.RawVector().Data
}

func near(t *testing.T, what string, s sim.Runtime, want []float64, tolerance float64) {
	t.Helper()
	for i, w := range want {
		for k, x := range s.Model(i) {
			if d := math.Abs(float64(x) - w*float64(k+1)); d > tolerance*float64(k+1) {
				t.Errorf("%s: agent %d coordinate %d is %g, the linear system gives %g", what, i, k, x,
					w*float64(k+1))
			}
		}
	}
}

func bcd(edit func(*algo.BCDParams)) func(any) error {
	return set(func(p *algo.BCDParams) {
		p.Mu, p.Smoothness = .7, .7
		if edit != nil {
			edit(p)
		}
	})
}

// Block coordinate descent, gossip ADMM and model propagation reach what a linear solver
// finds (a run in double precision comes within 1e-12; vectors here are float32).
func TestPersonalModelsReachTheMinimiser(t *testing.T) {
	s, _ := personal(t, "bcd", 40_000, bcd(nil))
	near(t, "bcd", s, solution(t, .7, false), 2e-6)

	admm := set(func(p *algo.GossipADMMParams) { p.Mu, p.Smoothness, p.LocalSteps = .7, .7, 30 })
	s, _ = personal(t, "gossip-admm", 5_000, admm)
	near(t, "gossip-admm", s, solution(t, .7, false), 1e-5)

	s, _ = personal(t, "model-propagation", 20_000, set(func(p *algo.FitParams) { p.Mu = .7 }))
	near(t, "model-propagation", s, solution(t, .7, true), 2e-6)
}

// μ large: every agent's own minimiser. μ small: one common model.
func TestMuRangesFromLocalToCommon(t *testing.T) {
	local, _ := personal(t, "bcd", 20_000, bcd(func(p *algo.BCDParams) { p.Mu, p.Lambda = 1e6, 1e-9 }))
	for i := range personalAgents {
		if d := math.Abs(float64(local.Model(i)[0]) - math.Sin(float64(i))); d > 1e-4 {
			t.Errorf("μ = 1e6: agent %d is %g away from its own minimiser", i, d)
		}
	}
	common, _ := personal(t, "bcd", 40_000, bcd(func(p *algo.BCDParams) { p.Mu = 1e-4 }))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range personalAgents {
		lo, hi = min(lo, float64(common.Model(i)[0])), max(hi, float64(common.Model(i)[0]))
	}
	if hi-lo > 1e-3 {
		t.Errorf("μ = 1e-4: models lie %g apart", hi-lo)
	}
}

// objectiveOf is Q of the first coordinate.
func objectiveOf(x []float64, mu float64) float64 {
	q := 0.
	for i := range x {
		d := 0.
		for j := range x {
			if i != j {
				d += weights(i, j)
				q += weights(i, j) * (x[i] - x[j]) * (x[i] - x[j]) / 4
			}
		}
		h, lambda, c := .1+float64(i%4)/5, 1/float64(records(i)), float64(records(i))/maxRecords
		q += mu * d * c * (h/2*(x[i]-math.Sin(float64(i)))*(x[i]-math.Sin(float64(i))) + lambda*x[i]*x[i])
	}
	return q
}

// Q falls on every wake by at least the gradient step's share |∇_i Q|²/(2 B_i), and the
// update is Θ_i - ∇_i Q/B_i. With a smoothness far below the true one it rises (negative
// control).
func TestObjectiveFallsOnEveryWake(t *testing.T) {
	risen := func(smoothness float64) (rises int) {
		const mu, wakes = .7, 400
		cfg, _ := personalConfig(t, "bcd", wakes, bcd(func(p *algo.BCDParams) { p.Smoothness = smoothness }))
		s := newAsync(t, cfg)
		clock := sim.NewClock(3, personalAgents, nil)
		x := make([]float64, personalAgents)
		for range wakes {
			w, _ := clock.Next()
			before, i := objectiveOf(x, mu), int(w.Agent)
			advance(t, s, s.Done()+1)
			d, pull := 0., 0.
			for j := range personalAgents {
				if j != i {
					d += weights(i, j)
					pull += weights(i, j) * x[j]
				}
			}
			h, lambda, c := .1+float64(i%4)/5, 1/float64(records(i)), float64(records(i))/maxRecords
			gradient := d*(x[i]+mu*c*(h*(x[i]-math.Sin(float64(i)))+2*lambda*x[i])) - pull
			b := d * (1 + mu*c*(smoothness+2*lambda))
			want := x[i] - gradient/b
			x[i] = float64(s.Model(i)[0])
			if math.Abs(x[i]-want) > 1e-6*max(1, math.Abs(want)) {
				t.Fatalf("agent %d went to %g, a gradient step to %g", i, x[i], want)
			}
			if smoothness >= .7 && objectiveOf(x, mu) > before-gradient*gradient/(2*b)+1e-6 {
				t.Fatalf("Q fell by %g, at least %g is guaranteed", before-objectiveOf(x, mu),
					gradient*gradient/(2*b))
			}
			if objectiveOf(x, mu) > before+1e-9 {
				rises++
			}
		}
		return rises
	}
	if n := risen(.7); n > 0 {
		t.Errorf("Q rose on %d wakes", n)
	}
	if n := func() int {
		f := factory(t, "bcd", bcd(func(p *algo.BCDParams) { p.Mu, p.Smoothness = 50, 1e-3 }))
		a, err := f(agent.Env{
			Agents:     2,
			Dim:        1,
			Records:    1000,
			MaxRecords: 1000,
			Rounds:     9,
			Init:       tensor.Vec{0},
		})
		if err != nil {
			t.Fatal(err)
		}
		view := &agent.View{In: []agent.Neighbor{{ID: 1, Weight: 1}}}
		var out agent.Output
		q, rises := math.Inf(1), 0
		for range 5 { // a lone loss (θ - 1)²/2 with the neighbor at 0
			step(t, a, agent.Input{Kind: agent.Wake, View: view,
				Inbox: []agent.Message{{From: 1, Body: tensor.Vec{0}}}}, &out)
			at := float64(out.Query.At[0])
			step(t, a, agent.Input{Kind: agent.Answer, View: view, Answer: tensor.Vec{float32(at - 1)}}, &out)
			x := float64(a.Params()[0])
			now := x*x/2 + 50*((x-1)*(x-1)/2+x*x/1000)
			if now > q {
				rises++
			}
			q = now
		}
		return rises
	}(); n == 0 {
		t.Error("Q never rose with a smoothness a thousand times too small")
	}
}

func step(t *testing.T, a agent.Algorithm, in agent.Input, out *agent.Output) {
	t.Helper()
	out.Reset()
	if err := a.Step(&in, out); err != nil {
		t.Fatal(err)
	}
}

// After its updates an agent asks and sends nothing more; when the budget is spent
// before, likewise.
func TestUpdatesEnd(t *testing.T) {
	s, bowls := personal(t, "bcd", 2000, bcd(func(p *algo.BCDParams) { p.AgentUpdates = []int{3, 5} }))
	g := personalGraph(t)
	var sent uint64
	for i, b := range bowls {
		want := []int{3, 5}[i%2]
		if b.asked["grad-full"] != want {
			t.Errorf("agent %d asked %d times, want %d", i, b.asked["grad-full"], want)
		}
		sent += uint64((want + 1) * g.Degree(agent.ID(i)))
	}
	if got := s.Stats().Sent; got != sent {
		t.Errorf("%d messages, want %d: one to each neighbor at the start and after each update", got, sent)
	}
	cfg, bowls := personalConfig(t, "bcd", 2000, bcd(func(p *algo.BCDParams) { p.Updates = 9 }))
	for _, b := range bowls {
		b.limit = 4
	}
	s = newAsync(t, cfg)
	advance(t, s, 2000)
	for i, b := range bowls {
		if b.asked["grad-full"] != 4 || !s.Model(i).Finite() {
			t.Errorf("agent %d got %d answers of 4", i, b.asked["grad-full"])
		}
	}
	if n := s.Stats().Exhausted; n != personalAgents {
		t.Errorf("%d refusals, want one for each agent", n)
	}
}

// A warm start asks fit once, propagates without asking, and then descends; noise factors
// reach the gate.
func TestWarmStart(t *testing.T) {
	s, bowls := personal(t, "bcd", 3000, bcd(func(p *algo.BCDParams) {
		p.Start, p.Propagate, p.Updates, p.Alloc, p.Contraction = "fit", 7, 4, "expected", .99
	}))
	for i, b := range bowls {
		if b.asked["fit"] != 1 || b.asked["grad-full"] != 4 {
			t.Errorf("agent %d asked %v", i, b.asked)
		}
		if f := b.factor; f[0] != 0 || !slices.IsSortedFunc(f[1:], func(a, b float64) int {
			return -compare(a, b)
		}) || f[4] != 1 || f[1] <= 1 {
			t.Errorf("agent %d: noise factors %v, want 0 for the fit and then falling to 1", i, f)
		}
	}
	if n := s.Stats().Idle; n == 0 {
		t.Error("no agent was ever done")
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestPersonalRefuses(t *testing.T) {
	for _, c := range []struct {
		key  string
		edit func(*algo.BCDParams)
	}{
		{"mu", func(p *algo.BCDParams) { p.Mu = 0 }},
		{"lambda", func(p *algo.BCDParams) { p.Lambda = -1 }},
		{"confidence", func(p *algo.BCDParams) { p.Confidence = 2 }},
		{"smoothness", func(p *algo.BCDParams) { p.Smoothness = math.Inf(1) }},
		{"alloc", func(p *algo.BCDParams) { p.Alloc = "early" }},
		{"contraction", func(p *algo.BCDParams) { p.Alloc, p.Updates = "late", 3 }},
		{"contraction", func(p *algo.BCDParams) { p.Contraction = .5 }},
		{"alloc_root", func(p *algo.BCDParams) {
			p.Alloc, p.Updates, p.Contraction, p.Root = "late", 3, .9, 5
		}},
		{"updates", func(p *algo.BCDParams) { p.Alloc, p.Contraction = "late", .9 }},
		{"updates", func(p *algo.BCDParams) { p.Updates = -1 }},
		{"agent_updates", func(p *algo.BCDParams) { p.AgentUpdates = []int{0} }},
		{"start", func(p *algo.BCDParams) { p.Start = "warm" }},
		{"fit_lambda", func(p *algo.BCDParams) { p.FitLambda = .1 }},
		{"propagate", func(p *algo.BCDParams) { p.Propagate = 1 }},
		{"norm", func(p *algo.BCDParams) { p.Norm = "paper" }},
	} {
		_, err := algo.New("bcd", set(c.edit))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s: %v", c.key, err)
		}
	}
	// Where counts are private λ and c must be given.
	f := factory(t, "bcd", bcd(nil))
	if _, err := f(agent.Env{Agents: 2, Dim: 1, Init: tensor.Vec{0}}); err == nil {
		t.Error("m_i was used although it is private")
	}
	f = factory(t, "bcd", bcd(func(p *algo.BCDParams) { p.Lambda, p.Confidence = .01, 1 }))
	if _, err := f(agent.Env{Agents: 2, Dim: 1, Init: tensor.Vec{0}}); err != nil {
		t.Error(err)
	}
}

// A run that is restored in its middle goes on with the same bits, and damage is refused.
func TestPersonalCheckpoints(t *testing.T) {
	for name, decode := range map[string]func(any) error{
		"bcd":               bcd(func(p *algo.BCDParams) { p.Start, p.Propagate = "fit", 2 }),
		"gossip-admm":       set(func(p *algo.GossipADMMParams) { p.Start = "fit" }),
		"model-propagation": func(any) error { return nil },
	} {
		start := func() sim.Runtime {
			cfg, _ := personalConfig(t, name, 90, decode)
			cfg.Faults = sim.Faults{Drop: .2, Churn: .3, ChurnPeriod: 2}
			return newAsync(t, cfg)
		}
		whole, half, again := start(), start(), start()
		advance(t, whole, 90)
		advance(t, half, 40)
		state := stateOf(t, half)
		if err := again.ReadState(bytes.NewReader(state)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		advance(t, again, 90)
		if !bytes.Equal(stateOf(t, whole), stateOf(t, again)) {
			t.Errorf("%s: the restored run ends in another state", name)
		}
		for i := 0; i < len(state); i += 97 {
			if err := start().ReadState(bytes.NewReader(state[:i])); !errors.Is(err, agent.ErrState) &&
				!errors.Is(err, agent.ErrMessage) {
				t.Errorf("%s: a checkpoint cut at %d gave %v", name, i, err)
			}
		}
	}
}

// noisy adds normal noise of deviation scale times a query's factor to a bowl's gradient.
type noisy struct {
	*bowl
	scale  float64
	stream *rng.Stream
}

func (g *noisy) Answer(q *agent.Query, dst tensor.Vec) error {
	if err := g.bowl.Answer(q, dst); err != nil {
		return err
	}
	factor := q.Noise
	if factor == 0 {
		factor = 1
	}
	z := make([]float64, len(dst))
	g.stream.Normals(z)
	for k := range dst {
		dst[k] += float32(g.scale * factor * z[k])
	}
	return nil
}

// constants returns the strong convexity σ of Q and its largest block constant B.
func constants(mu, smoothness float64) (sigma, largest float64) {
	sigma = math.Inf(1)
	for i := range personalAgents {
		d := 0.
		for j := range personalAgents {
			if j != i {
				d += weights(i, j)
			}
		}
		h, lambda, c := .1+float64(i%4)/5, 1/float64(records(i)), float64(records(i))/maxRecords
		sigma = min(sigma, mu*d*c*(h+2*lambda))
		largest = max(largest, d*(1+mu*c*(smoothness+2*lambda)))
	}
	return sigma, largest
}

// finalError is Q(T) - Q* of the first coordinate after a run whose answers have noise of
// the given deviation in an equal split over updates, and as much Σ 1/noise² under
// another allocation.
func finalError(t *testing.T, seed, wakes uint64, noise float64, alloc string, updates int,
	contraction float64) float64 {
	t.Helper()
	decode := bcd(func(p *algo.BCDParams) {
		if p.Updates = updates; alloc != "equal" {
			p.Alloc, p.Contraction, p.Root = alloc, contraction, 4
		}
	})
	cfg, bowls := personalConfig(t, "bcd", wakes, decode)
	cfg.Seed = seed
	lists := make([][]uint64, personalAgents)
	for clock := sim.NewClock(seed, personalAgents, nil); wakes > 0; wakes-- {
		w, _ := clock.Next()
		lists[w.Agent] = append(lists[w.Agent], cfg.Steps-wakes)
	}
	f := factory(t, "bcd", decode)
	for i := range cfg.Agents {
		a, err := f(agent.Env{
			Self:       agent.ID(i),
			Agents:     personalAgents,
			Dim:        personalDim,
			Records:    records(i),
			MaxRecords: maxRecords,
			Rounds:     cfg.Steps,
			Turns:      agent.Turns{Wakes: lists[i]},
			Init:       tensor.Vec{0, 0},
		})
		if err != nil {
			t.Fatal(err)
		}
		scale := noise
		if alloc != "equal" {
			al, n, sum := algo.Allocation{Alloc: alloc, Contraction: contraction, Root: 4},
				min(updates, len(lists[i])), 0.
			for _, x := range al.Factors(n, lists[i], personalAgents, cfg.Steps) {
				sum += 1 / (x * x)
			}
			scale *= math.Sqrt(sum / float64(n))
		}
		cfg.Agents[i] = sim.Agent{Algorithm: a,
			Gate: &noisy{bowls[i], scale, rng.Public(seed, "noise of a test", uint64(i))}}
	}
	s := newAsync(t, cfg)
	advance(t, s, cfg.Steps)
	x := make([]float64, personalAgents)
	for i := range x {
		x[i] = float64(s.Model(i)[0])
	}
	return objectiveOf(x, .7) - objectiveOf(solution(t, .7, false), .7)
}

// Without noise the mean error falls at least as fast as the linear rate (1 - σ/(n B))^T.
func TestLinearRate(t *testing.T) {
	sigma, b := constants(.7, .7)
	rate := 1 - sigma/(personalAgents*b)
	start := objectiveOf(make([]float64, personalAgents), .7) - objectiveOf(solution(t, .7, false), .7)
	for _, wakes := range []uint64{30, 120, 480} {
		mean := 0.
		for seed := range uint64(40) {
			mean += finalError(t, seed, wakes, 0, "equal", 0, 0) / 40
		}
		if bound := math.Pow(rate, float64(wakes)) * start; mean > bound || mean < -1e-9 {
			t.Errorf("after %d wakes the error is %g, the bound %g", wakes, mean, bound)
		}
	}
}

// At one Gaussian budget the corrected allocation ends nearer to the minimiser than an
// equal split, and the published one farther: paired over seeds, a one-sided t-test that
// rejects with probability 1e-6 where there is no difference.
func TestLateAllocationIsBetter(t *testing.T) {
	const wakes, seeds, updates = 480, 200, 40
	sigma, b := constants(.7, .7)
	contraction := 1 - 2*sigma/(personalAgents*b) // noise is forgotten faster than the bound on the rate says
	lower := func(better, worse string) {
		sum, square := 0., 0.
		for seed := range uint64(seeds) {
			d := finalError(t, seed, wakes, 3, worse, updates, contraction) -
				finalError(t, seed, wakes, 3, better, updates, contraction)
			sum, square = sum+d, square+d*d
		}
		mean := sum / seeds
		if score := mean / math.Sqrt((square/seeds-mean*mean)/(seeds-1)); score < 4.9 {
			t.Errorf("the error with alloc %s is lower than with %s by %g only, %.1f standard errors", better,
				worse, mean, score)
		}
	}
	lower("late", "equal")
	lower("equal", "paper")
}

func stateOf(t *testing.T, s sim.Runtime) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteState(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
