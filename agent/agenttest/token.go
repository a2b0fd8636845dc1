package agenttest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/tensor"
)

// TokenOptions describes an algorithm of tokens under test.
type TokenOptions struct {
	Factory agent.Factory
	Agents  int // 0 means 5
	// Tolerance: without noise, on quadratics with minimiser 0, every token must come
	// within it of 0 after 400 steps. 0 means 1e-2.
	Tolerance float64
}

// RunTokens is Run for algorithms of tokens: it checks determinism, checkpoints, that
// nothing of an input is kept, an exhausted budget, that a token is sent on to the next
// hop and nowhere else, refusal of a foreign step kind, and convergence on a quadratic.
func RunTokens(t *testing.T, o TokenOptions) {
	if o.Agents == 0 {
		o.Agents = 5
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-2
	}
	t.Run("deterministic", func(t *testing.T) {
		a, b := buildTokens(t, o, 60), buildTokens(t, o, 60)
		a.run(t, 60)
		b.run(t, 60)
		equalTokens(t, a, b)
	})
	t.Run("keeps nothing of its input", func(t *testing.T) {
		a, b := buildTokens(t, o, 60), buildTokens(t, o, 60)
		b.scribble = true
		a.run(t, 60)
		b.run(t, 60)
		equalTokens(t, a, b)
	})
	t.Run("checkpoint", func(t *testing.T) {
		a, b, c := buildTokens(t, o, 60), buildTokens(t, o, 60), buildTokens(t, o, 60)
		a.run(t, 60)
		b.run(t, 23)
		for i := range c.algs {
			state := b.algs[i].AppendState([]byte("prefix"))[len("prefix"):]
			if err := c.algs[i].LoadState(state); err != nil {
				t.Fatal(err)
			}
			for _, cut := range []int{0, len(state) / 2, len(state) - 1} {
				if err := buildTokens(t, o, 60).algs[i].LoadState(state[:cut]); !errors.Is(err,
					agent.ErrState) {
					t.Errorf("checkpoint cut at %d of %d: %v, want agent.ErrState", cut, len(state), err)
				}
			}
		}
		c.tokens, c.step = b.tokens, b.step
		c.run(t, 37)
		equalTokens(t, a, c)
	})
	t.Run("exhausted budget", func(t *testing.T) {
		a := buildTokens(t, o, 60)
		a.run(t, 20)
		a.exhausted = true
		a.run(t, 40)
		for k := range a.tokens {
			if !a.tokens[k].body.Finite() {
				t.Errorf("token %d is not finite after the budget ended", k)
			}
		}
	})
	t.Run("foreign kind", func(t *testing.T) {
		var out agent.Output
		if err := buildTokens(t, o, 1).algs[0].Step(&agent.Input{Kind: 0}, &out); !errors.Is(err,
			agent.ErrKind) {
			t.Errorf("the zero kind gave %v, want agent.ErrKind", err)
		}
	})
	t.Run("quadratic", func(t *testing.T) {
		a := buildTokens(t, o, 400)
		a.run(t, 400)
		for k := range a.tokens {
			if n := a.tokens[k].body.Norm(); n > o.Tolerance {
				t.Errorf("token %d is %g away from the minimiser after 400 steps", k, n)
			}
		}
	})
}

// walkers is a minimal runtime of two tokens on a complete graph, private gradient h_i θ,
// noise 0.
type walkers struct {
	algs      []agent.Algorithm
	tokens    [2]walker
	step      uint64
	scribble  bool
	exhausted bool // answers of private data are refused; those of noise alone never are
}

type walker struct {
	from, at agent.ID
	body     tensor.Vec
}

func buildTokens(t *testing.T, o TokenOptions, steps uint64) *walkers {
	t.Helper()
	w := new(walkers)
	init := make(tensor.Vec, dim)
	for i := range init {
		init[i] = float32(i+1) / 4
	}
	for i := range o.Agents {
		alg, err := o.Factory(agent.Env{
			Self:    agent.ID(i),
			Agents:  o.Agents,
			Dim:     dim,
			Records: 100,
			Rounds:  steps,
			Tokens:  len(w.tokens),
			Init:    slices.Clone(init),
		})
		if err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
		if !slices.Equal(alg.Params(), init) {
			t.Fatalf("agent %d does not start at Env.Init", i)
		}
		w.algs = append(w.algs, alg)
		w.visit(t, i, agent.Input{Kind: agent.Start})
	}
	for k := range w.tokens {
		w.tokens[k] = walker{at: agent.ID(k), body: slices.Clone(init)}
	}
	return w
}

// run has every token make steps; hops follow from the number of the step, stays among
// them.
func (w *walkers) run(t *testing.T, steps int) {
	t.Helper()
	n := uint64(len(w.algs))
	for range steps {
		for k := range w.tokens {
			x := &w.tokens[k]
			next := agent.ID((uint64(x.at)*3 + w.step*w.step + uint64(k)) % n)
			out := w.visit(t, int(x.at), agent.Input{
				Kind:  agent.Token,
				Round: w.step,
				View:  &agent.View{SelfWeight: 1},
				Peer:  next,
				Inbox: []agent.Message{{From: x.from, To: x.at, Round: w.step, Body: slices.Clone(x.body)}},
			})
			if len(out) != 1 || out[0].To != next || len(out[0].Body) != dim {
				t.Fatalf("agent %d sent %d messages after a token for agent %d", x.at, len(out), next)
			}
			x.from, x.at, x.body = x.at, next, slices.Clone(out[0].Body)
		}
		w.step++
	}
}

// visit steps an agent until it has no query left.
func (w *walkers) visit(t *testing.T, i int, in agent.Input) []agent.Message {
	t.Helper()
	var out agent.Output
	peer := in.Peer
	for {
		out.Reset()
		if err := w.algs[i].Step(&in, &out); err != nil {
			t.Fatalf("agent %d step %d %v: %v", i, w.step, in.Kind, err)
		}
		q := out.Query
		answer := make(tensor.Vec, dim)
		blank := q != nil && q.Oracle == "zero"
		if q != nil && !blank {
			answer.Scale(1+.2*float64(i), q.At)
		}
		if w.scribble {
			scribble(&in)
		}
		if q == nil {
			return out.Outbox
		}
		in = agent.Input{
			Kind:   agent.Answer,
			Round:  w.step,
			View:   &agent.View{SelfWeight: 1},
			Peer:   peer,
			Answer: answer,
		}
		if w.exhausted && !blank {
			in.Kind, in.Answer = agent.Exhausted, nil
		}
	}
}

func equalTokens(t *testing.T, a, b *walkers) {
	t.Helper()
	for k := range a.tokens {
		if !slices.Equal(a.tokens[k].body, b.tokens[k].body) {
			t.Errorf("token %d: %v, %v", k, a.tokens[k].body, b.tokens[k].body)
		}
	}
	for i := range a.algs {
		if !bytes.Equal(a.algs[i].AppendState(nil), b.algs[i].AppendState(nil)) {
			t.Errorf("agent %d: checkpoints differ", i)
		}
	}
}
