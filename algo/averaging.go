package algo

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// averaging takes the answers of all agents to one query after the other and averages
// each by m rounds of a Recursion; after the last it averages models. Every agent has the
// same average then, up to a hundredth of what they differed by at first. Messages are
// the averages in progress, all of one length, and their last value is the average's
// number: messages of another are not mixed.
type averaging struct {
	recursion Recursion
	queries   uint64 // answers of a run
	mixing    uint64 // m
	mix       mixer

	progress
	y        tensor.Vec // with room for every answer, and behind it the tag
	previous tensor.Vec
	next     tensor.Vec
}

// progress says how far the averages are.
type progress struct {
	asked    uint64 // answers so far
	over     bool   // all are taken: models are averaged
	averaged uint64 // rounds of averaging since the last one
	omega    float64
}

// prepare makes room for answers of n values, and finds m. steps is the key that queries
// follow from.
func (a *averaging) prepare(env agent.Env, r Recursion, steps int, queries uint64, n int) error {
	a.recursion, a.queries, a.mix = r, queries, mixer{self: env.Self}
	a.y, a.previous, a.next = make(tensor.Vec, n+1), make(tensor.Vec, n+1), make(tensor.Vec, n+1)
	known := env.Graph.SLEM < 1 || r.Rho > 0
	if !known && r.Acceleration == "chebyshev" {
		a.recursion.Acceleration = "plain"
	}
	if err := a.recursion.fill(env); err != nil {
		return err
	}
	need := uint64(1)
	if rate := max(env.Graph.SLEM, a.recursion.Rho); known {
		need = a.recursion.until(rate, min(.01, .1/math.Sqrt(float64(env.Agents))))
	}
	if a.mixing = (max(1, env.Rounds) - 1) / queries; a.mixing < need {
		return config.Bad("steps", steps, fmt.Sprintf("fewer, or rounds = %d: on this graph averages "+
			"of %d answers need %s each", need*queries+1, queries, config.Count(need, "round")))
	}
	return nil
}

// until is the number of rounds after which what agents differ by along an eigenvector of
// W with the given eigenvalue is at most the tolerance of what it was.
func (r *Recursion) until(eigenvalue, tolerance float64) uint64 {
	omega, y, previous := 0., 1., 0.
	for k := uint64(0); k < 1<<20; k++ {
		if math.Abs(y) <= tolerance {
			return max(1, k)
		}
		first, own, back := r.at(k, omega)
		y, previous = (first*eigenvalue+own)*y-back*previous, y
		omega = first
	}
	return 1 << 20
}

// taker goes on from averages.
type taker interface {
	take() // of a.y
	ask(out *agent.Output)
	begin(answer tensor.Vec) // starts the average of an answer; nil: of nothing
}

// step is one step of an agent whose model is theta.
func (a *averaging) step(name string, t taker, theta tensor.Vec, in *agent.Input,
	out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
	case agent.Round:
		if a.mixed(in, t, theta) {
			t.ask(out)
			return nil
		}
	case agent.Answer, agent.Exhausted:
		t.begin(in.Answer)
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("%s: %w: %v", name, agent.ErrKind, in.Kind)
	}
	out.Broadcast(a.y)
	return nil
}

// mixed averages once, goes on where an average is done, and reports whether an answer is
// due.
func (a *averaging) mixed(in *agent.Input, t taker, theta tensor.Vec) bool {
	if a.asked == 0 {
		return true
	}
	view, inbox := a.present(in)
	first, own, back := 1., 0., 0.
	if !a.over {
		first, own, back = a.recursion.at(a.averaged, a.omega)
	}
	a.mix.recur(a.next, view, a.y, inbox, first, own, back, a.previous)
	a.omega = first
	a.averaged++
	a.previous, a.y, a.next = a.y, a.next, a.previous
	switch {
	case a.over:
		copy(theta, a.y)
	case a.averaged < a.mixing:
	default:
		t.take()
		if a.asked < a.queries {
			return true
		}
		a.over = true
		a.restart(theta)
	}
	a.y[len(a.y)-1] = a.tag()
	return false
}

// present leaves out messages of another average: their weight is the agent's own then.
func (a *averaging) present(in *agent.Input) (*agent.View, []agent.Message) {
	is := func(m *agent.Message) bool { return m.Body[len(m.Body)-1] == a.tag() }
	for k := range in.Inbox {
		if is(&in.Inbox[k]) {
			continue
		}
		view := *in.View
		var inbox []agent.Message
		for _, m := range in.Inbox {
			if is(&m) {
				inbox = append(inbox, m)
			} else {
				view.SelfWeight += view.Weight(m.From)
			}
		}
		return &view, inbox
	}
	return in.View, in.Inbox
}

// answered starts the average of an answer, or of nothing.
func (a *averaging) answered(v tensor.Vec) {
	a.asked++
	a.restart(v)
	a.y[len(a.y)-1] = a.tag()
}

func (a *averaging) restart(v tensor.Vec) {
	a.averaged, a.omega = 0, 0
	a.y.Zero()
	a.previous.Zero()
	copy(a.y, v)
}

// tag numbers the average in progress.
func (a *averaging) tag() float32 {
	if a.over {
		return float32(a.asked + 1)
	}
	return float32(a.asked)
}
