package agenttest

import (
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
	common(t, func(t *testing.T, steps uint64) runtime { return buildTokens(t, o, steps) })
	t.Run("quadratic", func(t *testing.T) {
		a := buildTokens(t, o, 400)
		a.run(t, 400)
		for k, m := range a.models() {
			if n := m.Norm(); n > o.Tolerance {
				t.Errorf("token %d is %g away from the minimiser after 400 steps", k, n)
			}
		}
	})
}

// walkers is a minimal runtime of two tokens on a complete graph, private gradient h_i θ,
// noise 0.
type walkers struct {
	agents
	tokens [2]walker
	step   uint64
}

func (w *walkers) models() []tensor.Vec { return []tensor.Vec{w.tokens[0].body, w.tokens[1].body} }

func (w *walkers) resume(from runtime) {
	f := from.(*walkers)
	w.tokens, w.step = f.tokens, f.step
}

type walker struct {
	from, at agent.ID
	body     tensor.Vec
}

func buildTokens(t *testing.T, o TokenOptions, steps uint64) *walkers {
	t.Helper()
	w := new(walkers)
	init := w.make(t, o.Factory, agent.Env{Agents: o.Agents, Rounds: steps,
		Turns: agent.Turns{Tokens: len(w.tokens)}})
	for i := range w.algs {
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
		noiseOnly := q != nil && q.Oracle == "zero"
		if q != nil && !noiseOnly {
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
		if w.exhausted && !noiseOnly {
			in.Kind, in.Answer = agent.Exhausted, nil
		}
	}
}
