package node

import (
	"errors"
	"fmt"
	"time"

	"sotto/agent"
	"sotto/privacy"
	"sotto/tensor"
	"sotto/topology"
)

// stepper is the algorithm's next input and what it made of the last one. It belongs to
// the goroutine in Run.
type stepper struct {
	in     agent.Input
	out    agent.Output
	answer tensor.Vec
	asked  bool // there was a query since this was last cleared
}

// row is what the algorithm sees of a graph when no neighbor is missing.
func (n *Node) row(g *topology.Graph) *agent.View {
	i := n.cfg.Self
	return &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)}
}

// stepUntilDone steps the algorithm with n.in and with the answers to its queries until
// it has none left. When the budget is spent the gate is not asked again.
func (n *Node) stepUntilDone(r *RoundReport) error {
	return n.step(r, false)
}

// step is stepUntilDone. always: the gate is asked also when the budget is spent.
func (n *Node) step(r *RoundReport, always bool) error {
	for {
		n.out.Reset()
		if err := n.cfg.Algorithm.Step(&n.in, &n.out); err != nil {
			return err
		}
		if n.out.Query == nil {
			return nil
		}
		if !n.out.Query.At.Finite() {
			return fmt.Errorf("%w: it asks at a point that is not finite", ErrDiverged)
		}
		n.asked = true
		answer := n.out.Query.Room(n.answer, len(n.answer))
		n.in.Kind, n.in.Answer, n.in.Inbox = agent.Answer, answer, nil
		err := privacy.ErrExhausted
		if n.cfg.Shares && n.Astray() {
			err = privacy.ErrAbstain
		} else if always || !n.check.Exhausted {
			began := time.Now()
			err = n.cfg.Gate.Answer(n.out.Query, answer)
			if p, ok := n.cfg.Gate.(interface{ Padded() bool }); ok && p.Padded() {
				n.meter.Step.Since(began)
			}
		}
		switch {
		// the algorithm does without, as when the budget is spent
		case errors.Is(err, privacy.ErrAbstain):
			n.in.Kind, n.in.Answer = agent.Exhausted, nil
			n.cfg.Log.Warn("no answer in the round of a crash, or before all neighbors have said where this "+
				"node was: noise that is shared with neighbors serves once", "round", n.check.Round)
		case errors.Is(err, privacy.ErrExhausted):
			n.in.Kind, n.in.Answer = agent.Exhausted, nil
			n.exhaust(r)
		case err != nil:
			return err
		}
	}
}

// exhaust notes that the budget is spent. No later process asks the gate either.
func (n *Node) exhaust(r *RoundReport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.check.Exhausted {
		n.cfg.Log.Warn("the privacy budget of this run, or of these data, is spent: from now on this node "+
			"mixes only", "round", n.check.Round)
	}
	n.check.Exhausted, r.Exhausted = true, true
	n.check.Counts.Exhausted++
}
