package plan

import (
	"sotto/agent"
	"sotto/tensor"
)

// pace is how an agent is stepped that is driven so.
type pace struct {
	begin   func(r *rehearsal)                 // after its start
	advance func(r *rehearsal, k uint64) error // step k of its life
	// numbered: the messages after step k have number k+1.
	numbered bool
}

var paces = map[agent.Pacing]pace{
	agent.PacingRounds: {func(*rehearsal) {}, (*rehearsal).round, true},
	agent.PacingTokens: {func(*rehearsal) {}, (*rehearsal).visit, false},
	agent.PacingWakes:  {(*rehearsal).asksOnWakes, (*rehearsal).wake, true},
	agent.PacingPairs:  {(*rehearsal).asksOnWakes, (*rehearsal).meet, false},
}

// asking is implemented by algorithms that ask on a known number of their first wakes,
// however often they wake; false where they ask on every wake.
type asking interface {
	Asking() (wakes uint64, fixed bool)
}

// asksOnWakes shortens the life of an agent that does not ask on all its wakes.
func (r *rehearsal) asksOnWakes() {
	if b, ok := r.alg.(asking); ok {
		if wakes, fixed := b.Asking(); fixed {
			r.life.Steps = wakes
		}
	}
	r.over = r.out.Done
}

func (r *rehearsal) round(k uint64) error {
	return r.step(agent.Input{Kind: agent.Round, Round: k, View: r.life.View})
}

func (r *rehearsal) visit(k uint64) error {
	asked := r.count()
	token := []agent.Message{{Body: tensor.Vec{0}}}
	err := r.step(agent.Input{Kind: agent.Token, Round: k, View: r.life.View, Inbox: token})
	r.over = r.count() == asked // it has given all that it gives
	return err
}

func (r *rehearsal) wake(k uint64) error {
	err := r.step(agent.Input{Kind: agent.Wake, Round: k, View: r.life.View, Peer: agent.Broadcast})
	r.over = r.out.Done
	return err
}

func (r *rehearsal) meet(k uint64) error {
	view, peer := r.life.View, r.life.View.In[0].ID
	if err := r.step(agent.Input{Kind: agent.Wake, Round: k, View: view, Peer: peer}); err != nil {
		return err
	}
	heard := []agent.Message{{From: peer, Body: tensor.Vec{0, 0}}}
	err := r.step(agent.Input{Kind: agent.Exchange, View: view, Peer: peer, Inbox: heard})
	r.over = r.out.Done
	return err
}
