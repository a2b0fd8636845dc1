// Package agenttest is the conformance suite of agent.Algorithm for synchronous
// algorithms. One call from an algorithm's test checks what every runtime relies on:
//
//	func TestConformance(t *testing.T) {
//		agenttest.Run(t, agenttest.Options{Factory: f})
//	}
package agenttest

import (
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

// Run checks determinism, checkpoints, that nothing of an input is retained, what an
// agent.Lender or agent.Mixer promises, lost messages, an exhausted budget, refusal of a
// foreign step kind, and convergence on a quadratic.
func Run(t *testing.T, o Options) {
	if o.Agents == 0 {
		o.Agents = 5
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-2
	}
	common(t, func(t *testing.T, rounds uint64) runtime { return build(t, o, rounds) })
	t.Run("lent messages", func(t *testing.T) { lending(t, o) })
	t.Run("sums of the runtime", func(t *testing.T) {
		a, b := build(t, o, 60), build(t, o, 60)
		b.mixes = true
		a.run(t, 60)
		b.run(t, 60)
		equal(t, a, b)
		want := 0
		for _, alg := range b.algs {
			if m, ok := alg.(agent.Mixer); ok && m.Mixed() != nil {
				want += 60
			}
		}
		if b.mixed != want {
			t.Errorf("%d sums, want %d", b.mixed, want)
		}
	})
	t.Run("lost messages", func(t *testing.T) {
		a := build(t, o, 60)
		a.drop = .4
		a.run(t, 60)
		finite(t, a, "losses")
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
	agents
	o        Options
	round    uint64
	inbox    [][]agent.Message // what the coming round delivers, by receiver
	drop     float64
	returned [][]agent.Message // lost ones, by sender, which the coming round tells it
	faults   *rng.Stream
	mixes    bool // sums are formed for agents that are Mixers
	mixed    int  // such sums
}

func (w *world) models() []tensor.Vec {
	var all []tensor.Vec
	for _, alg := range w.algs {
		all = append(all, alg.Params())
	}
	return all
}

func (w *world) resume(from runtime) {
	f := from.(*world)
	w.round, w.inbox = f.round, f.inbox
}

func build(t *testing.T, o Options, rounds uint64) *world {
	t.Helper()
	w := &world{
		o:        o,
		inbox:    make([][]agent.Message, o.Agents),
		returned: make([][]agent.Message, o.Agents),
		faults:   rng.Public(1, "agenttest"),
	}
	// ring of five: (1+2cos 144°)/3
	env := agent.Env{Agents: o.Agents, Rounds: rounds, Graph: agent.Graph{LambdaMin: -.21},
		Table: agent.Table{Outputs: 1, Norm: 1, Slope: 1, Curvature: 1}}
	w.make(t, o.Factory, env)
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
	w.mix(i, &in)
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
			answer = reply(q, 1+.2*float64(i))
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

// reply is the gradient of c |θ|²/2, or to a longer query its Hessian: the upper triangle
// by row, with √2 times what is beside the diagonal. To row-sum it is sums of rows whose
// covariance is that Hessian.
func reply(q *agent.Query, c float64) tensor.Vec {
	answer := q.Room(nil, dim)
	if q.Oracle == "row-sum" { // of 4c records, half of which have each feature: a variance of c
		for i := range answer {
			answer[i] = float32(2 * c)
		}
		answer[len(answer)-1] *= 2
		return answer
	}
	if len(answer) == dim {
		if len(q.At) > dim { // with a centre and, as the last value, a length
			c /= float64(q.At[len(q.At)-1])
		}
		answer.Scale(c*unit(q.Oracle), q.At[:dim])
		return answer
	}
	for at, k := 0, dim; k > 0; at, k = at+k, k-1 {
		answer[at] = float32(c)
	}
	return answer
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
