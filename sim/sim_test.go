package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/privacy"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// slope answers h_i (θ - b_i), and refuses after limit answers.
type slope struct {
	h, b  float64
	limit int
}

func (s *slope) Begin(uint64, []agent.Neighbor) {}

func (s *slope) Answer(q *agent.Query, dst tensor.Vec) error {
	if s.limit == 0 {
		return privacy.ErrExhausted
	}
	s.limit--
	for i, x := range q.At {
		dst[i] = float32(s.h * (float64(x) - s.b))
	}
	return nil
}

type options struct {
	graph   string
	agents  int
	rounds  uint64
	workers int
	limit   int
	step    float64
	faults  sim.Faults
	seed    uint64
}

func build(t testing.TB, o options) sim.Runtime {
	t.Helper()
	s, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(o options) (sim.Runtime, error) {
	schedule, err := topology.New(o.graph, "", o.agents, 1, func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	factory, err := algo.New("dsgd", func(p any) error {
		p.(*algo.DSGDParams).StepSize.StepSize = o.step
		return nil
	})
	if err != nil {
		return nil, err
	}
	cfg := sim.Config{
		Schedule: schedule,
		Dim:      3,
		Steps:    o.rounds,
		Workers:  o.workers,
		Faults:   o.faults,
		Seed:     o.seed,
	}
	for i := range o.agents {
		a, err := factory(agent.Env{
			Self:   agent.ID(i),
			Agents: o.agents,
			Dim:    3,
			Rounds: o.rounds,
			Init:   tensor.Vec{float32(i), 1, -float32(i * i)},
		})
		if err != nil {
			return nil, err
		}
		cfg.Agents = append(cfg.Agents,
			sim.Agent{Algorithm: a, Gate: &slope{h: 1, b: float64(i), limit: o.limit}})
	}
	return sim.New(cfg)
}

func run(t testing.TB, s sim.Runtime, until uint64) {
	t.Helper()
	if err := s.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
}

func params(s sim.Runtime, agents int) (out []float32) {
	for i := range agents {
		out = append(out, s.Model(i)...)
	}
	return out
}

// With an exhausted budget the algorithm only mixes: after k rounds the parameters are
// W^k of the start, computed here in float64 from the graph's own rows.
func TestMixingIsPowersOfW(t *testing.T) {
	const n, k = 6, 7
	s := build(t, options{graph: "star", agents: n, rounds: k, limit: 0, step: 1})
	run(t, s, k)
	schedule, _ := topology.New("star", "", n, 1, func(any) error { return nil })
	g, _ := schedule.At(0)
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	for range k {
		y := make([]float64, n)
		for i := range y {
			for j := range x {
				y[i] += g.Weight(agent.ID(i), agent.ID(j)) * x[j]
			}
		}
		x = y
	}
	for i := range x {
		if got := float64(s.Model(i)[0]); math.Abs(got-x[i]) > 5e-6*(1+math.Abs(x[i])) {
			t.Errorf("agent %d: %g, want %g", i, got, x[i])
		}
	}
	if got := s.Stats().Exhausted; got != n*k {
		t.Errorf("%d refused queries, want %d", got, n*k)
	}
}

func TestBytesAndMessages(t *testing.T) {
	s := build(t, options{graph: "star", agents: 5, rounds: 4, limit: 99, step: .1})
	run(t, s, 4)
	// Four rounds of messages; the hub has 4 receivers, a leaf 1.
	size := uint64(agent.MessageSize(3))
	if got := s.BytesSent(0); got != 4*4*size {
		t.Errorf("hub sent %d bytes, want %d", got, 4*4*size)
	}
	if got := s.BytesSent(1); got != 4*size {
		t.Errorf("leaf sent %d bytes, want %d", got, 4*size)
	}
	if st := s.Stats(); st.Sent != 4*8 || st.Dropped+st.Late+st.OneSided != 0 {
		t.Errorf("stats %+v", st)
	}
}

var faulty = sim.Faults{Drop: .2, Delay: .3, MaxDelay: 3, Late: "use"}

func TestSameBitsForAnyWorkersAndAfterResume(t *testing.T) {
	o := options{graph: "torus", agents: 25, rounds: 40, limit: 30, step: .05, faults: faulty, seed: 4}
	o.workers = 1
	one := build(t, o)
	run(t, one, 40)
	want, stats := params(one, 25), one.Stats()
	for _, workers := range []int{2, 7, 64} {
		o.workers = workers
		s := build(t, o)
		run(t, s, 40)
		if !slices.Equal(params(s, 25), want) || s.Stats() != stats {
			t.Errorf("%d workers give another result", workers)
		}
	}
}

func TestResume(t *testing.T) {
	o := options{graph: "ring", agents: 8, rounds: 30, limit: 1000, step: .05, faults: faulty, seed: 9}
	whole := build(t, o)
	run(t, whole, 30)
	half := build(t, o)
	run(t, half, 13)
	state := stateOf(half)
	for i := 0; i < len(state); i += 97 {
		if err := load(build(t, o), state[:i]); !errors.Is(err, agent.ErrState) &&
			!errors.Is(err, agent.ErrMessage) {
			t.Fatalf("checkpoint cut at %d of %d: %v", i, len(state), err)
		}
	}
	again := build(t, o)
	if err := load(again, state); err != nil {
		t.Fatal(err)
	}
	if again.Done() != 13 {
		t.Fatalf("resumed at round %d", again.Done())
	}
	run(t, again, 30)
	if !slices.Equal(params(again, 8), params(whole, 8)) || again.Stats() != whole.Stats() ||
		again.BytesSent(3) != whole.BytesSent(3) {
		t.Error("the resumed run differs")
	}
	o.agents = 9
	if err := load(build(t, o), state); !errors.Is(err, agent.ErrState) {
		t.Errorf("checkpoint of 8 agents into 9: %v", err)
	}
}

// Losses: the weight of a missing neighbor stays on the receiver, so that values stay in
// the convex hull; symmetric losses keep the mean, one-sided ones are counted.
func TestLosses(t *testing.T) {
	for _, symmetric := range []bool{true, false} {
		s := build(t, options{
			graph:  "ring",
			agents: 10,
			rounds: 50,
			limit:  0,
			step:   1,
			seed:   3,
			faults: sim.Faults{Drop: .3, Symmetric: symmetric},
		})
		mean := func() (m float64) {
			for i := range 10 {
				m += float64(s.Model(i)[0]) / 10
			}
			return m
		}
		run(t, s, 50)
		st := s.Stats()
		// 50 rounds, 20 directed links, rate .3: within 5 standard errors.
		if d := math.Abs(float64(st.Dropped) - 300); d > 5*math.Sqrt(1000*.3*.7)*1.5 {
			t.Errorf("symmetric %v: %d of 1000 messages dropped at rate .3", symmetric, st.Dropped)
		}
		off := math.Abs(mean() - 4.5)
		if symmetric && (off > 1e-5 || st.OneSided != 0) {
			t.Errorf("symmetric losses moved the mean by %g, %d one-sided", off, st.OneSided)
		}
		if !symmetric && (off < 1e-4 || st.OneSided == 0) {
			t.Errorf("one-sided losses: mean moved by %g, %d counted", off, st.OneSided)
		}
		for i := range 10 {
			if x := s.Model(i)[0]; x < 0 || x > 9 {
				t.Errorf("agent %d at %g left the hull of the start", i, x)
			}
		}
	}
}

func TestTotalLossIsLocalTraining(t *testing.T) {
	s := build(t, options{
		graph:  "complete",
		agents: 3,
		rounds: 200,
		limit:  999,
		step:   .2,
		faults: sim.Faults{Drop: 1},
	})
	run(t, s, 200)
	for i := range 3 {
		if got := float64(s.Model(i)[0]); math.Abs(got-float64(i)) > 1e-5 {
			t.Errorf("agent %d: %g, own minimum %d", i, got, i)
		}
	}
}

func TestLateMessages(t *testing.T) {
	for _, late := range []string{"discard", "use"} {
		s := build(t, options{graph: "ring", agents: 4, rounds: 60, limit: 0, step: 1, seed: 1,
			faults: sim.Faults{Delay: 1, MaxDelay: 1, Late: late}})
		run(t, s, 60)
		st := s.Stats()
		if st.Late != 60*8 {
			t.Errorf("%s: %d late messages, want %d", late, st.Late, 60*8)
		}
		spread := 0.
		for i := range 4 {
			spread = max(spread, math.Abs(float64(s.Model(i)[0])-float64(s.Model(0)[0])))
		}
		// Every message is one round late. Discarded, nobody ever hears anything; used,
		// they agree.
		if late == "discard" && (spread < 2.9 || st.Stale != 59*8) {
			t.Errorf("discard: spread %g, %d stale", spread, st.Stale)
		}
		if late == "use" && (spread > 1e-3 || st.Stale != 0) {
			t.Errorf("use: spread %g, %d stale", spread, st.Stale)
		}
	}
}

// loud sends although it is silent; odd sends to a stranger.
type loud struct {
	agent.Algorithm
	to agent.ID
}

func (l loud) Step(in *agent.Input, out *agent.Output) error {
	out.Outbox = append(out.Outbox, agent.Message{To: l.to, Body: tensor.Vec{1}})
	return nil
}

func TestWhatMayNotBeSent(t *testing.T) {
	schedule, _ := topology.New("path", "", 3, 1, func(any) error { return nil })
	make := func(a sim.Agent) error {
		_, err := sim.New(sim.Config{Agents: []sim.Agent{a, a, a}, Schedule: schedule, Dim: 1, Steps: 1})
		return err
	}
	if err := make(sim.Agent{Algorithm: loud{to: agent.Broadcast}, Silent: true}); !errors.Is(err,
		sim.ErrSent) {
		t.Errorf("a silent agent sent: %v", err)
	}
	if err := make(sim.Agent{Algorithm: loud{to: 2}}); err == nil {
		t.Error("agent 0 of a path sent to agent 2")
	}
}

func TestBadConfig(t *testing.T) {
	for key, f := range map[string]sim.Faults{
		"drop": {Drop: 1.5}, "delay": {Delay: math.NaN()}, "max_delay": {Delay: .1}, "late": {Late: "keep"},
	} {
		var e *config.Error
		if _, err := start(options{graph: "ring", agents: 4, rounds: 1, step: 1, faults: f}); !errors.As(err,
			&e) || e.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	var e *config.Error
	if _, err := start(options{graph: "ring", agents: 4, rounds: 1, step: 1, workers: -1}); !errors.As(err,
		&e) || e.Key != "workers" {
		t.Errorf("workers: %v", err)
	}
	if _, err := sim.New(sim.Config{}); !errors.As(err, &e) || e.Key != "agents" {
		t.Errorf("no agents: %v", err)
	}
	some := []sim.Agent{{Algorithm: loud{to: 1}, Gate: &slope{}}}
	for key, c := range map[string]sim.Config{
		"schedule": {Agents: some, Pacing: agent.PacingRounds},
		"dim":      {Agents: some, Schedule: topology.Static(&topology.Graph{}), Dim: -1},
		"agents":   {Agents: []sim.Agent{{}}, Schedule: topology.Static(&topology.Graph{})},
	} {
		if _, err := sim.New(c); !errors.As(err, &e) || e.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestInterruptBetweenRounds(t *testing.T) {
	s := build(t, options{graph: "ring", agents: 4, rounds: 9, limit: 99, step: .1})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, 9); !errors.Is(err, context.Canceled) || s.Done() != 0 {
		t.Errorf("round %d, %v", s.Done(), err)
	}
}

func ExampleNew() {
	s, _ := start(options{graph: "complete", agents: 4, rounds: 1, limit: 0, step: 1})
	s.Run(context.Background(), 1)
	fmt.Println(s.Model(0)) // everyone holds the mean
	// Output: [1.5 1 -3.5]
}

func BenchmarkRound(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := build(b, options{
				graph:  "ring",
				agents: n,
				rounds: math.MaxUint32,
				limit:  math.MaxInt,
				step:   .1,
			})
			k := uint64(0)
			for b.Loop() {
				k++
				run(b, s, k)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/agent-round")
		})
	}
}
