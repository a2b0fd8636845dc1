package agenttest

import (
	"slices"
	"testing"

	"sotto/agent"
	"sotto/tensor"
)

// lending checks agent.Lender and agent.Mixer where an algorithm implements them.
func lending(t *testing.T, o Options) {
	w := build(t, o, 60)
	lenders := make([]agent.Lender, len(w.algs))
	for i, alg := range w.algs {
		l, ok := alg.(agent.Lender)
		if !ok || !l.Lend(new(agent.Output)) {
			return
		}
		lenders[i] = l
	}
	var before, sent []loan // of the round before, and of the last one
	for round := range 40 {
		before, sent = sent, nil
		w.run(t, 1)
		for i, l := range lenders {
			var out agent.Output
			l.Lend(&out)
			again := build(t, o, 60).algs[i].(agent.Lender)
			if err := again.LoadState(l.AppendState(nil)); err != nil {
				t.Fatal(err)
			}
			var restored agent.Output
			again.Lend(&restored)
			for k, m := range out.Outbox {
				n := w.view(i, nil).Out
				if len(n) > 0 && !slices.ContainsFunc(w.inbox[n[0].ID], func(g agent.Message) bool {
					return g.From == agent.ID(i) && g.Mass == m.Mass && slices.Equal(g.Body, m.Body)
				}) {
					t.Fatalf("agent %d lends other values than it sent in round %d", i, round)
				}
				if !slices.Equal(restored.Outbox[k].Body, m.Body) || restored.Outbox[k].Mass != m.Mass {
					t.Fatalf("agent %d lends other values after a checkpoint of round %d", i, round)
				}
				sent = append(sent, loan{m.Body, slices.Clone(m.Body)})
			}
		}
		for i := range before {
			if !slices.Equal(before[i].body, before[i].was) {
				t.Fatalf("message %d of round %d changes while round %d reads it", i, round-1, round)
			}
		}
	}
}

// loan is a body that was lent, and what it held then.
type loan struct{ body, was tensor.Vec }

// mix does what a runtime does for an agent.Mixer: it leaves the sum where that asks for
// it and takes the inbox away.
func (w *world) mix(i int, in *agent.Input) {
	m, ok := w.algs[i].(agent.Mixer)
	if !ok || !w.mixes || in.Kind != agent.Round {
		return
	}
	dst := m.Mixed()
	if dst == nil {
		return
	}
	var own agent.Output
	m.Lend(&own)
	var weights []float64
	var bodies []tensor.Vec
	for j := range w.algs {
		if j == i {
			weights, bodies = append(weights, in.View.SelfWeight), append(bodies, own.Outbox[0].Body)
		}
		for _, g := range in.Inbox {
			if g.From == agent.ID(j) {
				weights, bodies = append(weights, in.View.Weight(g.From)), append(bodies, g.Body)
			}
		}
	}
	tensor.WeightedSum(dst, weights, bodies)
	in.Mixed, in.Inbox = true, nil
	w.mixed++
}
