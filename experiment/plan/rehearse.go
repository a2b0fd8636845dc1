package plan

import (
	"slices"

	"sotto/agent"
	"sotto/tensor"
)

// Life is how an agent is going to be stepped, as far as that is public and known before
// the run.
type Life struct {
	Pacing agent.Pacing
	// Steps is the number of rounds, of the agent's own wakes, or of visits of tokens.
	Steps uint64
	View  *agent.View
	// Free are queries that are answered without data, by name, and charge nothing.
	Free map[string]bool
}

// Rehearse steps one agent through its life in dimension 1, with answers and messages
// that are zero, and lists what it asks, and when. Every algorithm's queries depend on
// public facts only. An algorithm with a fixed number of updates spreads its budget over
// all of them, however often it wakes.
func Rehearse(f agent.Factory, env agent.Env, life Life) (Asked, error) {
	env.Dim, env.Init, env.Table.Outputs, env.Table.Knots = 1, tensor.Vec{0}, 1, nil
	alg, err := f(env)
	if err != nil {
		return Asked{}, err
	}
	r, pace := &rehearsal{alg: alg, life: &life}, paces[life.Pacing]
	if err := r.step(agent.Input{Kind: agent.Start, View: life.View}); err != nil {
		return Asked{}, err
	}
	pace.begin(r)
	for k := uint64(0); k < r.life.Steps && !r.over; k++ {
		if err := pace.advance(r, k); err != nil {
			return Asked{}, err
		}
	}
	asked := Asked{Asks: r.asks}
	if r.flush(); pace.numbered {
		asked.When = &r.when
	}
	return asked, nil
}

// rehearsal is one agent's, in progress.
type rehearsal struct {
	alg   agent.Algorithm
	life  *Life
	out   agent.Output
	asks  []Ask
	when  agent.Schedule
	now   uint64 // the round of the last query
	asked int    // in it
	over  bool   // nothing more is going to be asked
}

// step steps the agent until it has no query left.
func (r *rehearsal) step(in agent.Input) error {
	for {
		r.out.Reset()
		if err := r.alg.Step(&in, &r.out); err != nil || r.out.Query == nil {
			return err
		}
		if !r.life.Free[r.out.Query.Oracle] {
			r.add(r.out.Query)
			r.note(in.Round)
		}
		in = agent.Input{Kind: agent.Answer, Round: in.Round, View: r.life.View,
			Answer: r.out.Query.Room(nil, 1)}
	}
}

// add counts a query. Kinds differ in what their events may differ in: the oracle, its
// operator and the factor on the noise.
func (r *rehearsal) add(q *agent.Query) {
	for k := range r.asks {
		a := &r.asks[k]
		if a.Query.Oracle == q.Oracle && a.Query.Noise == q.Noise && a.Query.Operator == q.Operator {
			if a.Steps == nil && a.Query.Step != q.Step {
				a.Steps = slices.Repeat([]float64{a.Query.Step}, a.Times)
			}
			if a.Steps != nil {
				a.Steps = append(a.Steps, q.Step)
			}
			a.Times++
			return
		}
	}
	kept := *q
	kept.At, kept.Values = nil, 0
	r.asks = append(r.asks, Ask{Query: kept, Times: 1})
}

// note counts a query of a round, none before the last one that has any.
func (r *rehearsal) note(round uint64) {
	if r.now != round {
		r.flush()
		for r.when.Until < round {
			r.when.Add(0)
		}
		r.now = round
	}
	r.asked++
}

// flush ends the round of the last query.
func (r *rehearsal) flush() {
	if r.asked > 0 {
		r.when.Add(r.asked)
	}
	r.asked = 0
}

func (r *rehearsal) count() int {
	n := 0
	for _, a := range r.asks {
		n += a.Times
	}
	return n
}
