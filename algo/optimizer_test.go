package algo_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

// feed steps one agent alone through answers and returns its parameters after each.
func feed(t *testing.T, a agent.Algorithm, answers []float32) []float64 {
	t.Helper()
	view := &agent.View{SelfWeight: 1}
	var got []float64
	var out agent.Output
	for k, g := range answers {
		out.Reset()
		if err := a.Step(&agent.Input{Kind: agent.Round, Round: uint64(k), View: view}, &out); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if err := a.Step(&agent.Input{Kind: agent.Answer, Round: uint64(k), View: view,
			Answer: tensor.Vec{g}}, &out); err != nil {
			t.Fatal(err)
		}
		got = append(got, float64(a.Params()[0]))
	}
	return got
}

func alone(t *testing.T, f agent.Factory, rounds int) agent.Algorithm {
	t.Helper()
	a, err := f(agent.Env{Agents: 1, Dim: 1, Rounds: uint64(rounds), Init: tensor.Vec{1}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Expected values are the recurrences of the type's comment by hand, from θ = 1 with η =
// 1/2 and answers 1, -1, 2.
//
// momentum 1/2: m = 1, -1/2, 7/4; θ = 1/2, 3/4, -1/8. With weight decay 1/2: m = 1 + 1/2
// = 3/2, θ = 1/4; m = 3/4 - 1 + 1/8 = -1/8, θ = 5/16; m = -1/16 + 2 + 5/32 = 67/32, θ =
// 5/16 - 67/64 = -47/64. adam, β1 = β2 = 1/2, ε -> 0: m = 1/2, -1/4, 7/8 over 1/2, 3/4,
// 7/8; v = 1/2, 3/4, 19/8 over the same: directions 1, (-1/3)/1, 1/sqrt(19/7). ema 3/4 of
// sgd's θ = 1/2, 1, 0: e = 7/8, 29/32, 87/128. sgd with weight decay 1/2: θ = 1 - 1/4 -
// 1/2 = 1/4; 1/4 - 1/16 + 1/2 = 11/16; 11/16 - 11/64 - 1 = -31/64.
func TestOptimizersFollowTheirRecurrences(t *testing.T) {
	adam := []float64{.5, .5 + .5/3, .5 + .5/3 - .5/math.Sqrt(19./7)}
	for name, c := range map[string]struct {
		o               algo.Optimizer
		momentum, decay float64
		want            []float64
	}{
		"sgd":               {algo.Optimizer{Optimizer: "sgd"}, 0, 0, []float64{.5, 1, 0}},
		"sgd with decay":    {algo.Optimizer{}, 0, .5, []float64{.25, 11. / 16, -31. / 64}},
		"momentum":          {algo.Optimizer{Optimizer: "momentum"}, .5, 0, []float64{.5, .75, -.125}},
		"momentum, unnamed": {algo.Optimizer{}, .5, 0, []float64{.5, .75, -.125}},
		"momentum, decay":   {algo.Optimizer{}, .5, .5, []float64{.25, 5. / 16, -47. / 64}},
		"momentum 0.9": {algo.Optimizer{Optimizer: "momentum"}, 0, 0,
			[]float64{.5, .55, .5 + .05 - .5*1.91}},
		"adam": {algo.Optimizer{Optimizer: "adam", Beta1: .5, Beta2: .5, AdamEpsilon: 1e-30}, 0,
			0, adam},
		"ema": {algo.Optimizer{EMA: .75}, 0, 0, []float64{7. / 8, 29. / 32, 87. / 128}},
	} {
		central := factory(t, "central", set(func(p *algo.SGDParams) {
			p.Optimizer, p.Momentum, p.WeightDecay, p.StepSize.StepSize = c.o, c.momentum, c.decay, .5
		}))
		dsgd := factory(t, "dsgd", set(func(p *algo.DSGDParams) {
			p.Optimizer, p.Momentum, p.WeightDecay, p.StepSize.StepSize = c.o, c.momentum, c.decay, .5
		}))
		for kind, f := range map[string]agent.Factory{"central": central, "dsgd": dsgd} {
			for k, got := range feed(t, alone(t, f, 3), []float32{1, -1, 2}) {
				if math.Abs(got-c.want[k]) > 3e-7 {
					t.Errorf("%s, %s, round %d: %.9g, want %.9g", kind, name, k, got, c.want[k])
				}
			}
		}
	}
}

// adam-bc with β1 = β2 = 1/2, η = 1/2 and noise of variance s² = 1/4, by hand from θ = 1:
// answers 2, 1 give m = 1, 1 over 1/2, 3/4 and v = 2, 3/2 over the same, so that v - s²
// is 4 - 1/4 and 2 - 1/4: directions 2/sqrt(15/4) and (4/3)/sqrt(7/4). Answers 1/10,
// -1/10 have v = .01 below s², so that the floor divides: s² sqrt 2 at first, then, with
// weights 1/3 and 2/3 of two answers, s² sqrt(2 (1/9 + 4/9)).
func TestBiasCorrection(t *testing.T) {
	for name, c := range map[string]struct {
		answers []float32
		want    []float64
	}{
		"signal": {[]float32{2, 1}, []float64{2 / math.Sqrt(15./4), 4. / 3 / math.Sqrt(7./4)}},
		"noise": {[]float32{.1, -.1}, []float64{.1 / math.Sqrt(math.Sqrt2/4),
			-.1 / 3 / math.Sqrt(math.Sqrt(10./9)/4)}},
	} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) {
			p.Optimizer = algo.Optimizer{Optimizer: "adam-bc", Beta1: .5, Beta2: .5}
			p.StepSize.StepSize = .5
		}))
		env := agent.Env{Agents: 1, Dim: 1, Rounds: 2, Init: tensor.Vec{1}}
		env.Noise = .5
		a, err := f(env)
		if err != nil {
			t.Fatal(err)
		}
		at := 1.
		for k, got := range feed(t, a, c.answers) {
			if at -= .5 * c.want[k]; math.Abs(got-at) > 3e-7 {
				t.Errorf("%s, round %d: %.9g, want %.9g", name, k, got, at)
			}
		}
		env.Noise = math.NaN()
		_, err = f(env)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "optimizer" {
			t.Errorf("noise that nobody knows: %v", err)
		}
	}
}

// Under noise alone adam-bc takes steps as if there were no second moment: the floor
// keeps them from growing as the estimate nears 0. Of 4,000 values of variance s² the
// mean size of steps after 100 answers is within a tenth of what it is at the floor at
// least.
func TestBiasCorrectionOfNoise(t *testing.T) {
	const dim, s, steps = 4000, .01, 100
	r := rand.New(rand.NewPCG(1, 2))
	f := factory(t, "local", set(func(p *algo.SGDParams) {
		p.Optimizer.Optimizer, p.StepSize.StepSize = "adam-bc", 1
	}))
	a, err := f(agent.Env{Agents: 1, Dim: dim, Rounds: steps, Init: make(tensor.Vec, dim),
		Turns: agent.Turns{Noise: s}})
	if err != nil {
		t.Fatal(err)
	}
	view, answer := &agent.View{SelfWeight: 1}, make(tensor.Vec, dim)
	var out agent.Output
	last := make(tensor.Vec, dim)
	for k := range uint64(steps) {
		copy(last, a.Params())
		for i := range answer {
			answer[i] = float32(s * r.NormFloat64())
		}
		in := agent.Input{Kind: agent.Answer, Round: k, View: view, Answer: answer}
		if err := a.Step(&in, &out); err != nil {
			t.Fatal(err)
		}
	}
	most := 0.
	for i, x := range a.Params() {
		most = max(most, math.Abs(float64(x)-float64(last[i])))
	}
	// m/(1-β1^t) has a standard deviation of s sqrt(.1/1.9), and no value of 4,000 has 6
	// of them but with probability 1e-5; the floor at t = 100 is s² sqrt(2/100) about
	if limit := 6 * math.Sqrt(.1/1.9) / math.Pow(.02, .25); most > 1.05*limit || most < limit/12 {
		t.Errorf("the longest step is %v, want at most %v", most, limit)
	}
}

// The last half of five rounds, rounded up, is three: θ of sgd is 1/2, 1, 0, -1/2, 0.
func TestTailAverages(t *testing.T) {
	answers, theta := []float32{1, -1, 2, 1, -1}, []float64{.5, 1, 0, -.5, 0}
	for tail, want := range map[float64][]float64{
		.5: {.5, 1, 0, -.25, -.5 / 3}, 1: {.5, .75, .5, .25, .2}, .01: {.5, 1, 0, -.5, 0},
	} {
		f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Tail, p.StepSize.StepSize = tail, .5 }))
		for k, got := range feed(t, alone(t, f, 5), answers) {
			if math.Abs(got-want[k]) > 3e-7 {
				t.Errorf("tail %g, round %d: %.9g, want %.9g; θ %.9g", tail, k, got, want[k], theta[k])
			}
		}
	}
	for _, o := range []algo.Optimizer{{Tail: -.1}, {Tail: 1.1}, {Tail: .5, EMA: .5}} {
		_, err := algo.New("dsgd", set(func(p *algo.DSGDParams) { p.Optimizer = o }))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "tail" {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Adam with its default parameters moves by about the step size whatever the answers'
// size (Kingma, Ba, section 2.1).
func TestAdamForgetsTheScale(t *testing.T) {
	for _, scale := range []float32{1e-3, 1, 1e6} {
		f := factory(t, "local", set(func(p *algo.SGDParams) { p.Optimizer.Optimizer = "adam" }))
		got := feed(t, alone(t, f, 2), []float32{scale, scale})
		if math.Abs(got[0]-.9) > 2e-6 || math.Abs(got[1]-.8) > 2e-6 {
			t.Errorf("answers of %g lead to %v, want 0.9, 0.8", scale, got)
		}
	}
}

// With ema the messages and the point of the query are θ itself, and the mean moves on
// when the budget is spent.
func TestAverageStaysAtHome(t *testing.T) {
	f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.EMA, p.StepSize.StepSize = .5, 1 }))
	a := alone(t, f, 9)
	view := &agent.View{SelfWeight: 1}
	var out agent.Output
	step := func(in agent.Input) *agent.Output {
		out.Reset()
		in.View = view
		if err := a.Step(&in, &out); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	step(agent.Input{Kind: agent.Round})
	if sent := step(agent.Input{Kind: agent.Answer, Answer: tensor.Vec{4}}).Outbox[0].Body[0]; sent != -3 {
		t.Errorf("sent %g, want θ = -3", sent)
	}
	if mean := a.Params()[0]; mean != -1 {
		t.Errorf("mean %g, want (1-3)/2", mean)
	}
	if at := step(agent.Input{Kind: agent.Round, Round: 1}).Query.At[0]; at != -3 {
		t.Errorf("asked at %g, want θ = -3", at)
	}
	step(agent.Input{Kind: agent.Exhausted, Round: 1})
	if mean := a.Params()[0]; mean != -2 {
		t.Errorf("mean %g after an exhausted round, want (-1-3)/2", mean)
	}
}

func TestOptimizerConformance(t *testing.T) {
	for _, o := range []algo.Optimizer{
		{Optimizer: "adam"}, {Optimizer: "momentum"}, {EMA: .9}, {Optimizer: "adam", EMA: .5},
		{Optimizer: "adam-bc", Tail: .6},
	} {
		schedule := algo.StepSize{StepSize: .05, StepSizeFinal: 1e-4, Schedule: "cosine", Warmup: 7}
		t.Run(fmt.Sprintf("dsgd %s %g", o.Optimizer, o.EMA), func(t *testing.T) {
			f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Optimizer, p.StepSize = o, schedule }))
			agenttest.Run(t, agenttest.Options{Factory: f})
		})
		t.Run(fmt.Sprintf("central %s %g", o.Optimizer, o.EMA), func(t *testing.T) {
			f := factory(t, "central", set(func(p *algo.SGDParams) { p.Optimizer, p.StepSize = o, schedule }))
			agenttest.Run(t, agenttest.Options{Factory: f, Agents: 1, Silent: true})
		})
	}
}

// A checkpoint of one optimizer does not load into another.
func TestOptimizerStateIsItsOwn(t *testing.T) {
	adam := alone(t, factory(t, "central", set(func(p *algo.SGDParams) {
		p.Optimizer.Optimizer = "adam"
	})), 1)
	plain := alone(t, factory(t, "central", set(func(p *algo.SGDParams) {})), 1)
	if err := plain.LoadState(adam.AppendState(nil)); !errors.Is(err, agent.ErrState) {
		t.Errorf("sgd loaded adam's state: %v", err)
	}
	if err := adam.LoadState(plain.AppendState(nil)); !errors.Is(err, agent.ErrState) {
		t.Errorf("adam loaded sgd's state: %v", err)
	}
}

// Decentralized momentum reaches the same fixed point as none: at rest m is the gradient
// over 1-β, which a step size (1-β) times smaller undoes.
func TestMomentumFixedPoint(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	f := factory(t, "dsgd", set(func(p *algo.DSGDParams) { p.Momentum, p.StepSize.StepSize = .5, .1 }))
	l := newLockstep(t, f, one, 300, 4, quadratic)
	for k := range uint64(300) {
		l.round(t, k)
	}
	if got := l.theta()[0]; math.Abs(got-minimum[0]) > 1e-6 {
		t.Errorf("%g, want the minimiser %g", got, minimum[0])
	}
}

func TestCosineAndWarmup(t *testing.T) {
	cos := algo.StepSize{StepSize: .3, StepSizeFinal: .1, Schedule: "cosine"}
	warm := algo.StepSize{StepSize: .3, StepSizeFinal: .1, Schedule: "cosine", Warmup: 4}
	for _, tc := range []struct{ got, want float64 }{
		{cos.At(0, 7), .3}, {cos.At(6, 7), .1}, {cos.At(3, 7), .2}, {cos.At(2, 7), .25}, {cos.At(4, 7), .15},
		{cos.At(0, 1), .3},
		{warm.At(0, 7), .3 / 4}, {warm.At(2, 7), .25 * 3 / 4}, {warm.At(3, 7), .2}, {warm.At(4, 7), .15},
	} {
		if math.Abs(tc.got-tc.want) > 1e-15 {
			t.Errorf("got %g, want %g", tc.got, tc.want)
		}
	}
}

func TestBadOptimizers(t *testing.T) {
	for key, edit := range map[string]func(*algo.DSGDParams){
		"optimizer": func(p *algo.DSGDParams) { p.Optimizer.Optimizer = "adamw" },
		"momentum":  func(p *algo.DSGDParams) { p.Optimizer.Optimizer, p.Momentum = "adam", .5 },
		"beta1":     func(p *algo.DSGDParams) { p.Optimizer.Optimizer, p.Beta1 = "adam", 1 },
		"beta2":     func(p *algo.DSGDParams) { p.Beta2 = .9 },
		"adam_epsilon": func(p *algo.DSGDParams) {
			p.Optimizer.Optimizer, p.AdamEpsilon = "adam", math.Inf(1)
		},
		"ema":             func(p *algo.DSGDParams) { p.EMA = 1 },
		"step_size_final": func(p *algo.DSGDParams) { p.Schedule = "cosine" },
	} {
		_, err := algo.New("dsgd", set(edit))
		var e *config.Error
		if !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: got %v", key, err)
		}
	}
}
