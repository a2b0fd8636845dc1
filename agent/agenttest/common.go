package agenttest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/tensor"
)

// runtime is one of the minimal runtimes that the suites drive algorithms with.
type runtime interface {
	run(t *testing.T, steps int)
	// models are what is learned: those of the agents, or tokens.
	models() []tensor.Vec
	// resume takes over what is on its way in another runtime of the same agents.
	resume(from runtime)
	all() *agents
}

// agents are those of a runtime, with what it does to them.
type agents struct {
	algs      []agent.Algorithm
	scribble  bool // inputs are overwritten after every step
	exhausted bool // answers of private data are refused; those of noise alone never are
}

func (a *agents) all() *agents { return a }

// make makes the agents of env, which all start at the model that it returns.
func (a *agents) make(t *testing.T, f agent.Factory, env agent.Env) (init tensor.Vec) {
	t.Helper()
	for i := range dim {
		init = append(init, float32(i+1)/4)
	}
	env.Dim, env.Records = dim, 100
	for i := range env.Agents {
		env.Self, env.Init = agent.ID(i), slices.Clone(init)
		alg, err := f(env)
		if err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
		if !slices.Equal(alg.Params(), init) {
			t.Fatalf("agent %d does not start at Env.Init", i)
		}
		a.algs = append(a.algs, alg)
	}
	return init
}

// common checks what every pace relies on.
func common(t *testing.T, build func(t *testing.T, steps uint64) runtime) {
	const steps = 60
	t.Run("deterministic", func(t *testing.T) {
		a, b := build(t, steps), build(t, steps)
		a.run(t, steps)
		b.run(t, steps)
		equal(t, a, b)
	})
	t.Run("keeps nothing of its input", func(t *testing.T) {
		a, b := build(t, steps), build(t, steps)
		b.all().scribble = true
		a.run(t, steps)
		b.run(t, steps)
		equal(t, a, b)
	})
	t.Run("checkpoint", func(t *testing.T) {
		a, b, c := build(t, steps), build(t, steps), build(t, steps)
		a.run(t, steps)
		b.run(t, 23)
		for i, alg := range c.all().algs {
			state := b.all().algs[i].AppendState([]byte("prefix"))[len("prefix"):]
			if err := alg.LoadState(state); err != nil {
				t.Fatal(err)
			}
			for _, cut := range []int{0, len(state) / 2, len(state) - 1} {
				err := build(t, steps).all().algs[i].LoadState(state[:cut])
				if !errors.Is(err, agent.ErrState) {
					t.Errorf("checkpoint cut at %d of %d: %v, want agent.ErrState", cut, len(state), err)
				}
			}
		}
		c.resume(b)
		c.run(t, steps-23)
		equal(t, a, c)
	})
	t.Run("exhausted budget", func(t *testing.T) {
		a := build(t, steps)
		a.run(t, 20)
		a.all().exhausted = true
		a.run(t, steps-20)
		finite(t, a, "its budget ended")
	})
	t.Run("foreign kind", func(t *testing.T) {
		var out agent.Output
		err := build(t, 60).all().algs[0].Step(&agent.Input{Kind: 0}, &out)
		if !errors.Is(err, agent.ErrKind) {
			t.Errorf("the zero kind gave %v, want agent.ErrKind", err)
		}
	})
}

func finite(t *testing.T, a runtime, after string) {
	t.Helper()
	for k, m := range a.models() {
		if !m.Finite() {
			t.Errorf("model %d is not finite after %s", k, after)
		}
	}
}

func equal(t *testing.T, a, b runtime) {
	t.Helper()
	was := b.models()
	for k, m := range a.models() {
		if !slices.Equal(m, was[k]) {
			t.Errorf("model %d: %v, %v", k, m, was[k])
		}
	}
	for i, alg := range a.all().algs {
		if !bytes.Equal(alg.AppendState(nil), b.all().algs[i].AppendState(nil)) {
			t.Errorf("agent %d: checkpoints differ", i)
		}
	}
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
