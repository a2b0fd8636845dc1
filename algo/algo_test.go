package algo_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

// set returns a decode function that stores p where the constructor's parameters have p's
// type.
func set[T any](edit func(*T)) func(any) error {
	return func(params any) error {
		p, ok := params.(*T)
		if !ok {
			return fmt.Errorf("constructor decodes %T", params)
		}
		edit(p)
		return nil
	}
}

func factory(t *testing.T, name string, decode func(any) error) agent.Factory {
	t.Helper()
	f, err := algo.New(name, decode)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	keep := func(any) error { return nil }
	for _, order := range []string{"grad-then-mix", "mix-then-grad"} {
		t.Run("dsgd "+order, func(t *testing.T) {
			f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Order, p.WeightDecay = order, .01 }))
			agenttest.Run(t, agenttest.Options{Factory: f})
		})
	}
	t.Run("dsgt", func(t *testing.T) {
		agenttest.Run(t, agenttest.Options{Factory: factory(t, "dsgt", keep)})
	})
	t.Run("central", func(t *testing.T) {
		f := factory(t, "central", set(func(p *algo.SGDParams) { p.Momentum = .5 }))
		agenttest.Run(t, agenttest.Options{Factory: f, Agents: 1, Silent: true})
	})
	t.Run("local", func(t *testing.T) {
		agenttest.Run(t, agenttest.Options{Factory: factory(t, "local", keep), Silent: true})
	})
}

// lockstep runs agents on a fixed W with a scalar gradient each. Every query of a round
// is answered by grad.
type lockstep struct {
	w      *mat.Dense
	algs   []agent.Algorithm
	sent   []tensor.Vec // what each agent has broadcast for the coming round
	grad   func(i int, at float32) float32
	asked  int       // queries so far, over all agents
	latest []float64 // each agent's last answer
}

func newLockstep(t *testing.T, f agent.Factory, w *mat.Dense, rounds uint64, init float32,
	grad func(int, float32) float32) *lockstep {
	t.Helper()
	n, _ := w.Dims()
	l := &lockstep{w: w, grad: grad, sent: make([]tensor.Vec, n), latest: make([]float64, n)}
	for i := range n {
		a, err := f(agent.Env{
			Self:    agent.ID(i),
			Agents:  n,
			Dim:     1,
			Records: 10,
			Rounds:  rounds,
			Init:    tensor.Vec{init},
		})
		if err != nil {
			t.Fatal(err)
		}
		l.algs = append(l.algs, a)
		l.sent[i] = l.step(t, i, agent.Input{Kind: agent.Start, View: &agent.View{SelfWeight: 1}})
	}
	return l
}

// step answers agent i's queries until it has none left and returns what it broadcasts.
func (l *lockstep) step(t *testing.T, i int, in agent.Input) tensor.Vec {
	t.Helper()
	var out agent.Output
	for {
		out.Reset()
		if err := l.algs[i].Step(&in, &out); err != nil {
			t.Fatalf("agent %d, %v: %v", i, in.Kind, err)
		}
		if out.Query == nil {
			break
		}
		l.asked++
		answer := l.grad(i, out.Query.At[0])
		l.latest[i] = float64(answer)
		in = agent.Input{Kind: agent.Answer, Round: in.Round, View: in.View, Answer: tensor.Vec{answer}}
	}
	if len(out.Outbox) == 0 {
		return nil
	}
	return slices.Clone(out.Outbox[0].Body)
}

func (l *lockstep) theta() []float64 {
	x := make([]float64, len(l.algs))
	for i, a := range l.algs {
		x[i] = float64(a.Params()[0])
	}
	return x
}

func (l *lockstep) round(t *testing.T, k uint64) {
	t.Helper()
	next := make([]tensor.Vec, len(l.algs))
	for i := range l.algs {
		view := &agent.View{SelfWeight: l.w.At(i, i)}
		var inbox []agent.Message
		for j := range l.algs {
			if j != i && l.w.At(i, j) != 0 {
				view.In = append(view.In, agent.Neighbor{ID: agent.ID(j), Weight: l.w.At(i, j)})
				if l.sent[j] != nil {
					inbox = append(inbox, agent.Message{From: agent.ID(j), Round: k, Body: l.sent[j]})
				}
			}
		}
		next[i] = l.step(t, i, agent.Input{Kind: agent.Round, Round: k, View: view, Inbox: inbox})
	}
	l.sent = next
}

func ring(n int) *mat.Dense {
	w := mat.NewDense(n, n, nil)
	for i := range n {
		w.Set(i, i, 1./3)
		w.Set(i, (i+1)%n, 1./3)
		w.Set(i, (i+n-1)%n, 1./3)
	}
	return w
}

var (
	curvature = []float64{1, .5, 2, 1.5, .8}
	minimum   = []float64{-1, 2, .5, 3, -2}
)

func quadratic(i int, at float32) float32 {
	return float32(curvature[i] * (float64(at) - minimum[i]))
}

// TestClaim49: the noise index of Lemma A.1 must run backwards. Agents that agree descend
// on θ²/4 with step 1, so that each round halves the error, ρ = .5. The answer of round 0
// has no noise and that of round 1 has 1: the error after two rounds is 1, where the
// printed sum Σ ρ^i ‖ξ^i‖ says at most .5.
func TestClaim49(t *testing.T) {
	xi, rho := []float64{0, 1}, .5
	for _, order := range []string{"grad-then-mix", "mix-then-grad"} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Order, p.StepSize.StepSize = order, 1 }))
		round := 0
		l := newLockstep(t, f, ring(5), 2, 0, func(_ int, at float32) float32 {
			return at*float32(1-rho) - float32(xi[round])
		})
		for ; round < len(xi); round++ {
			l.round(t, uint64(round))
		}
		printed, reversed := 0., 0.
		for i, x := range xi {
			printed += math.Pow(rho, float64(i)) * x
			reversed += math.Pow(rho, float64(len(xi)-1-i)) * x
		}
		for i, e := range l.theta() {
			if math.Abs(e-reversed) > 1e-6 || e < 1.9*printed {
				t.Errorf("%s, agent %d: error %g, printed bound %g, bound with the index k-i %g; want 1, "+
					".5, 1", order, i, e, printed, reversed)
			}
		}
	}
}

// With noise off and a constant step the fixed point of grad-then-mix solves (I-W)θ +
// η(hθ - hb) = 0, that of mix-then-grad (θ = m - ηh(m-b), m = Wθ) solves (I - (I-ηH)W)θ =
// ηHb.
func TestDSGDFixedPoint(t *testing.T) {
	const eta, n = .2, 5
	w := ring(n)
	for _, order := range []string{"grad-then-mix", "mix-then-grad"} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Order, p.StepSize.StepSize = order, eta }))
		l := newLockstep(t, f, w, 600, 4, quadratic)
		for k := range uint64(600) {
			l.round(t, k)
		}
		a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for i := range n {
			for j := range n {
				delta := 0.
				if i == j {
					delta = 1
				}
				v := delta - w.At(i, j)
				if order == "mix-then-grad" {
					v = delta - (1-eta*curvature[i])*w.At(i, j)
				} else {
					v += delta * eta * curvature[i]
				}
				a.Set(i, j, v)
			}
			b.SetVec(i, eta*curvature[i]*minimum[i])
		}
		var want mat.VecDense
		if err := want.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		for i, got := range l.theta() {
			if math.Abs(got-want.AtVec(i)) > 5e-6*(1+math.Abs(got)) {
				t.Errorf("%s agent %d: %.9g, the linear system gives %.9g", order, i, got, want.AtVec(i))
			}
		}
	}
}

// mean θ^{k+1} = mean θ^k - η mean G̃ for a doubly stochastic W (here to float32
// rounding), and a W that is only row-stochastic must break it.
func TestDSGDMeanRecursion(t *testing.T) {
	const eta = .05
	uneven := mat.NewDense(3, 3, []float64{.5, .25, .25, .5, .5, 0, .5, 0, .5})
	for name, tc := range map[string]struct {
		w    *mat.Dense
		hold bool
	}{"doubly stochastic": {ring(3), true}, "row-stochastic star": {uneven, false}} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.StepSize.StepSize = eta }))
		l := newLockstep(t, f, tc.w, 50, 1, quadratic)
		worst := 0.
		for k := range uint64(50) {
			x := l.theta()
			want := 0.
			for i := range x {
				want += (x[i] - eta*float64(quadratic(i, float32(x[i])))) / 3
			}
			l.round(t, k)
			got := 0.
			for _, v := range l.theta() {
				got += v / 3
			}
			worst = max(worst, math.Abs(got-want))
		}
		if (worst < 5e-7) != tc.hold {
			t.Errorf("%s: the mean is off by %g", name, worst)
		}
	}
}

// Both orders agree in the first round, where all θ_i are equal.
func TestDSGDOrdersAgreeAtConsensus(t *testing.T) {
	var got [2][]float64
	for i, order := range []string{"grad-then-mix", "mix-then-grad"} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Order = order }))
		l := newLockstep(t, f, ring(5), 1, .75, quadratic)
		l.round(t, 0)
		got[i] = l.theta()
	}
	for i := range got[0] {
		if math.Abs(got[0][i]-got[1][i]) > 1e-6 {
			t.Errorf("agent %d: %g against %g", i, got[0][i], got[1][i])
		}
	}
}

// The central baseline with β = 0 and wd = 0 is DP-DSGD on one agent with W = [1], bit
// for bit.
func TestCentralIsDSGDAlone(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	a := newLockstep(t, factory(t, "dsgd", set(func(p *algo.DSGDParams) {})), one, 100, 5, quadratic)
	b := newLockstep(t, factory(t, "central", set(func(p *algo.SGDParams) {})), one, 100, 5, quadratic)
	for k := range uint64(100) {
		a.round(t, k)
		b.round(t, k)
		if x, y := a.theta()[0], b.theta()[0]; x != y {
			t.Fatalf("round %d: %v against %v", k, x, y)
		}
	}
}

// Local-only training solves least squares: the iterate reaches the agent's own
// minimiser.
func TestLocalReachesItsOwnMinimum(t *testing.T) {
	l := newLockstep(t, factory(t, "local", set(func(p *algo.SGDParams) {
		p.StepSize.StepSize = .4
	})), ring(5), 200, 0, quadratic)
	for k := range uint64(200) {
		l.round(t, k)
	}
	for i, got := range l.theta() {
		if math.Abs(got-minimum[i]) > 1e-5 {
			t.Errorf("agent %d: %g, own minimum %g", i, got, minimum[i])
		}
	}
}

func TestStepSizes(t *testing.T) {
	geo := algo.StepSize{StepSize: .2, StepSizeFinal: .0005, Schedule: "geometric"}
	inv := algo.StepSize{StepSize: .2, StepSizeTau: 10, Schedule: "inverse"}
	for _, tc := range []struct {
		got, want float64
	}{
		{geo.At(0, 2000), .2}, {geo.At(1999, 2000), .0005}, {geo.At(1, 3), math.Sqrt(.2 * .0005)},
		{geo.At(0, 1), .2},
		{inv.At(0, 9), .2}, {inv.At(10, 99), .1}, {inv.At(30, 99), .05},
	} {
		if math.Abs(tc.got-tc.want) > 1e-15 {
			t.Errorf("got %g, want %g", tc.got, tc.want)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for key, decode := range map[string]func(any) error{
		"order":           set(func(p *algo.DSGDParams) { p.Order = "mix" }),
		"step_size":       set(func(p *algo.DSGDParams) { p.StepSize.StepSize = 0 }),
		"step_size_final": set(func(p *algo.DSGDParams) { p.Schedule = "geometric" }),
		"step_size_tau": set(func(p *algo.DSGDParams) {
			p.Schedule, p.StepSizeTau = "inverse", math.Inf(1)
		}),
		"schedule":     set(func(p *algo.DSGDParams) { p.Schedule = "cosin" }),
		"weight_decay": set(func(p *algo.DSGDParams) { p.WeightDecay = math.NaN() }),
	} {
		_, err := algo.New("dsgd", decode)
		var e *config.Error
		if !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: got %v", key, err)
		}
	}
	for key, edits := range map[string][]func(*algo.WalkParams){
		"step_size_final": {func(p *algo.WalkParams) { p.StepSizeFinal = .1 },
			func(p *algo.WalkParams) { p.StepSizeFinal = math.NaN() },
			func(p *algo.WalkParams) { p.Schedule, p.StepSizeTau, p.StepSizeFinal = "inverse", 9, .1 }},
		"step_size_tau": {func(p *algo.WalkParams) { p.StepSizeTau = 9 },
			func(p *algo.WalkParams) { p.Schedule, p.StepSizeFinal, p.StepSizeTau = "cosine", .1, 9 }},
	} {
		for k, edit := range edits {
			var e *config.Error
			if _, err := algo.New("walk", set(edit)); !errors.As(err, &e) || e.Key != key {
				t.Errorf("%s, which nothing reads, %d: got %v", key, k, err)
			}
		}
	}
	var e *config.Error
	if _, err := algo.New("central", set(func(p *algo.SGDParams) {
		p.Momentum = 1
	})); !errors.As(err, &e) || e.Key != "momentum" {
		t.Errorf("momentum 1: %v", err)
	}
	if _, err := algo.New("sgdd", nil); !errors.As(err, &e) || e.Key != "name" {
		t.Errorf("unknown name: %v", err)
	}
	f := factory(t, "central", set(func(p *algo.SGDParams) {}))
	if _, err := f(agent.Env{Agents: 2, Dim: 1, Init: tensor.Vec{0}}); !errors.As(err, &e) || e.Found != "2" {
		t.Errorf("central with two agents: %v", err)
	}
}

func ExampleNew() {
	f, _ := algo.New("dsgd", func(params any) error {
		params.(*algo.DSGDParams).StepSize.StepSize = .5
		return nil
	})
	a, _ := f(agent.Env{Self: 0, Agents: 2, Dim: 1, Rounds: 10, Init: tensor.Vec{4}})
	view := &agent.View{SelfWeight: .5, In: []agent.Neighbor{{ID: 1, Weight: .5}}}
	var out agent.Output
	a.Step(&agent.Input{Kind: agent.Round, View: view,
		Inbox: []agent.Message{{From: 1, Body: tensor.Vec{2}}}}, &out)
	fmt.Println("asks", out.Query.Oracle, "at", out.Query.At)
	out.Reset()
	a.Step(&agent.Input{Kind: agent.Answer, View: view, Answer: tensor.Vec{1}}, &out)
	fmt.Println("sends", out.Outbox[0].Body)
	// Output:
	// asks grad at [4]
	// sends [2.5]
}

// Parameters are the defaults without decode, and what has another length than the model
// is refused: it filled the rest with 0, or panicked.
func TestNewRefusesOtherLengths(t *testing.T) {
	f, err := algo.New("dsgd", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f(agent.Env{Agents: 2, Dim: 3, Rounds: 1}); err != nil {
		t.Errorf("without Init: %v", err)
	}
	for _, env := range []agent.Env{{Agents: 2, Dim: -1}, {Agents: 2, Dim: 3, Init: tensor.Vec{1}},
		{Agents: 2, Dim: 1, Init: make(tensor.Vec, 3)}} {
		var bad *config.Error
		if _, err := f(env); !errors.As(err, &bad) || bad.Key != "init" {
			t.Errorf("dimension %d, %d values: %v", env.Dim, len(env.Init), err)
		}
	}
}
