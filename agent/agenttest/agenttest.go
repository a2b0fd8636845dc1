// Package agenttest is the conformance suite of agent.Algorithm for synchronous
// algorithms. One call from an algorithm's test checks what every runtime relies on:
//
//	func TestConformance(t *testing.T) { agenttest.Run(t, agenttest.Options{Factory: f}) }
package agenttest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/rng"
	"sotto/tensor"
)

// Options describes the algorithm under test.
type Options struct {
	Factory agent.Factory
	Agents  int // 0 means 5; 1 for algorithms that run alone
	// Consensus says that on quadratics with minimiser 0 and a common start the agents
	// must come within Tolerance of 0 after 400 rounds without noise. 0 means 1e-2.
	Tolerance float64
	// Mean says that the algorithm asks once and averages: agents must come within
	// Tolerance of the mean answer.
	Mean bool
	// Silent algorithms must never send.
	Silent bool
}

const dim = 7

// Run checks determinism, checkpoints, that nothing of an input is retained, lost
// messages, an exhausted budget, refusal of a foreign step kind, and convergence on a
// quadratic.
func Run(t *testing.T, o Options) {
	if o.Agents == 0 {
		o.Agents = 5
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-2
	}
	t.Run("deterministic", func(t *testing.T) {
		a, b := build(t, o, 20), build(t, o, 20)
		a.run(t, 20)
		b.run(t, 20)
		equal(t, a, b)
	})
	t.Run("keeps nothing of its input", func(t *testing.T) {
		a, b := build(t, o, 20), build(t, o, 20)
		b.scribble = true
		a.run(t, 20)
		b.run(t, 20)
		equal(t, a, b)
	})
	t.Run("checkpoint", func(t *testing.T) { checkpoint(t, o) })
	t.Run("lost messages", func(t *testing.T) {
		a := build(t, o, 60)
		a.drop = .4
		a.run(t, 60)
		for i, alg := range a.algs {
			if !alg.Params().Finite() {
				t.Errorf("agent %d is not finite after losses", i)
			}
		}
	})
	t.Run("exhausted budget", func(t *testing.T) {
		a := build(t, o, 40)
		a.run(t, 10)
		a.exhausted = true
		a.run(t, 30)
		for i, alg := range a.algs {
			if !alg.Params().Finite() {
				t.Errorf("agent %d is not finite after its budget ended", i)
			}
		}
	})
	t.Run("foreign kind", func(t *testing.T) {
		a := build(t, o, 1)
		var out agent.Output
		if err := a.algs[0].Step(&agent.Input{Kind: 0}, &out); !errors.Is(err, agent.ErrKind) {
			t.Errorf("the zero kind gave %v, want agent.ErrKind", err)
		}
	})
	t.Run("quadratic", func(t *testing.T) {
		a := build(t, o, 400)
		a.run(t, 400)
		target := make(tensor.Vec, dim)
		if o.Mean {
			for i := range target { // of (1 + .2 i) times the initial vector
				target[i] = float32((1 + .1*float64(o.Agents-1)) * float64(i+1) / 4)
			}
		}
		for i, alg := range a.algs {
			target := slices.Clone(target)
			target.AddScaled(-1, alg.Params())
			if n := target.Norm(); n > o.Tolerance {
				t.Errorf("agent %d is %g away from the minimiser, or the mean, after 400 rounds", i, n)
			}
		}
	})
}

// world is a minimal runtime: a ring (or complete graph below 3 agents), private gradient
// h_i θ.
type world struct {
	o         Options
	algs      []agent.Algorithm
	round     uint64
	inbox     [][]agent.Message // what the coming round delivers, by receiver
	scribble  bool
	exhausted bool
	drop      float64
	returned  [][]agent.Message // lost ones, by sender, which the coming round tells it
	faults    *rng.Stream
}

func build(t *testing.T, o Options, rounds uint64) *world {
	t.Helper()
	w := &world{
		o:        o,
		inbox:    make([][]agent.Message, o.Agents),
		returned: make([][]agent.Message, o.Agents),
		faults:   rng.Public(1, "agenttest"),
	}
	init := make(tensor.Vec, dim)
	for i := range init {
		init[i] = float32(i+1) / 4
	}
	for i := range o.Agents {
		// ring of five: (1+2cos 144°)/3
		alg, err := o.Factory(agent.Env{
			Self:    agent.ID(i),
			Agents:  o.Agents,
			Dim:     dim,
			Records: 100,
			Rounds:  rounds,
			Init:    slices.Clone(init),
			Graph:   agent.Graph{LambdaMin: -.21},
		})
		if err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
		if !slices.Equal(alg.Params(), init) {
			t.Fatalf("agent %d does not start at Env.Init", i)
		}
		w.algs = append(w.algs, alg)
	}
	return w
}

func (w *world) view(i int, inbox []agent.Message) *agent.View {
	n := w.o.Agents
	ids := map[int]bool{(i + 1) % n: true, (i + n - 1) % n: true}
	delete(ids, i)
	v := &agent.View{SelfWeight: 1}
	for j := range n {
		if !ids[j] {
			continue
		}
		v.Out = append(v.Out, agent.Neighbor{ID: agent.ID(j), Weight: 1. / 3})
		if slices.ContainsFunc(inbox, func(m agent.Message) bool { return m.From == agent.ID(j) }) {
			v.In = append(v.In, agent.Neighbor{ID: agent.ID(j), Weight: 1. / 3})
			v.SelfWeight -= 1. / 3
		} else {
			v.Missing++
		}
	}
	return v
}

// run steps every agent through rounds, answering each query with a quadratic's gradient.
func (w *world) run(t *testing.T, rounds int) {
	t.Helper()
	if w.round == 0 {
		next := make([][]agent.Message, len(w.algs))
		for i := range w.algs {
			w.step(t, i, agent.Start, nil, next)
		}
		w.inbox = next
	}
	for range rounds {
		next := make([][]agent.Message, len(w.algs))
		for i := range w.algs {
			w.step(t, i, agent.Round, w.inbox[i], next)
		}
		w.inbox = next
		w.round++
	}
}

func (w *world) step(t *testing.T, i int, kind agent.Kind, inbox []agent.Message, next [][]agent.Message) {
	t.Helper()
	in := agent.Input{
		Kind:     kind,
		Round:    w.round,
		Inbox:    inbox,
		View:     w.view(i, inbox),
		Returned: w.returned[i],
	}
	w.returned[i] = nil
	var out agent.Output
	for {
		out.Reset()
		if err := w.algs[i].Step(&in, &out); err != nil {
			t.Fatalf("agent %d round %d %v: %v", i, w.round, in.Kind, err)
		}
		sent := deliver(w, i, kind, &out, next)
		if w.o.Silent && sent {
			t.Fatalf("agent %d sent a message, but must be silent", i)
		}
		q := out.Query
		var answer tensor.Vec
		if q != nil {
			answer = make(tensor.Vec, dim)
			answer.Scale((1+.2*float64(i))*unit(q.Oracle), q.At)
		}
		if w.scribble {
			scribble(&in)
		}
		if q == nil {
			return
		}
		in = agent.Input{Kind: agent.Answer, Round: w.round, View: w.view(i, inbox), Answer: answer}
		if w.exhausted {
			in.Kind, in.Answer = agent.Exhausted, nil
		}
	}
}

// unit is what an oracle answers where the gradient is 1: those of algorithm km with a
// step towards the minimiser.
func unit(oracle string) float64 {
	if strings.HasPrefix(oracle, "km") {
		return -.5
	}
	return 1
}

// deliver copies an outbox to the receivers' next inboxes, losing some.
func deliver(w *world, i int, kind agent.Kind, out *agent.Output, next [][]agent.Message) bool {
	if out.Query != nil {
		return false
	}
	to := w.view(i, nil).Out
	for _, m := range out.Outbox {
		m.From, m.Round = agent.ID(i), w.round
		if kind != agent.Start {
			m.Round++
		}
		for _, n := range to {
			if m.To != agent.Broadcast && m.To != n.ID {
				continue
			}
			m.Body = slices.Clone(m.Body)
			if w.faults.Float64() < w.drop {
				lost := m
				lost.To = n.ID
				w.returned[i] = append(w.returned[i], lost)
				continue
			}
			next[n.ID] = append(next[n.ID], m)
		}
	}
	return len(out.Outbox) > 0
}

// scribble overwrites all that a step's input pointed to.
func scribble(in *agent.Input) {
	for i := range in.Answer {
		in.Answer[i] = float32(math.NaN())
	}
	for i := range in.Returned {
		in.Returned[i] = agent.Message{To: 999}
	}
	for i := range in.Inbox {
		for j := range in.Inbox[i].Body {
			in.Inbox[i].Body[j] = float32(math.NaN())
		}
		in.Inbox[i] = agent.Message{From: 999}
	}
	if in.View != nil {
		clear(in.View.In)
		clear(in.View.Out)
		in.View.SelfWeight = math.NaN()
	}
}

func checkpoint(t *testing.T, o Options) {
	a, b := build(t, o, 30), build(t, o, 30)
	a.run(t, 30)
	b.run(t, 11)
	c := build(t, o, 30)
	for i := range c.algs {
		state := b.algs[i].AppendState([]byte("prefix"))[len("prefix"):]
		if err := c.algs[i].LoadState(state); err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, len(state) / 2, len(state) - 1} {
			if err := build(t, o, 30).algs[i].LoadState(state[:cut]); !errors.Is(err, agent.ErrState) {
				t.Errorf("checkpoint cut at %d of %d: %v, want agent.ErrState", cut, len(state), err)
			}
		}
	}
	c.round, c.inbox = b.round, b.inbox
	c.run(t, 19)
	equal(t, a, c)
}

func equal(t *testing.T, a, b *world) {
	t.Helper()
	for i := range a.algs {
		if !slices.Equal(a.algs[i].Params(), b.algs[i].Params()) {
			t.Errorf("agent %d: parameters differ: %v, %v", i, a.algs[i].Params(), b.algs[i].Params())
		}
		if !bytes.Equal(a.algs[i].AppendState(nil), b.algs[i].AppendState(nil)) {
			t.Errorf("agent %d: checkpoints differ", i)
		}
	}
}
