package node

import (
	"context"
	"fmt"

	"sotto/agent"
	"sotto/node/checkpoint"
	"sotto/node/mailbox"
	"sotto/topology"
)

// Where chance draws the links of every round, from the public seed, each in both
// directions, most nodes may have no neighbor in a round, as when agents average in
// pairs. A node passes such rounds at once: it steps its algorithm through them in
// memory, and stores nothing and waits for nobody, because it makes the same steps again
// after a crash. A round with neighbors needs their frames alone, so that members may be
// far apart.
//
// Whoever hears a node says by a frame of progress that it has stored what came of that
// round. The node keeps what it sent for its last two rounds with neighbors, and
// completes the later one when all who hear it in the earlier one have said so: a crash
// at either end loses nothing. Nobody waits for another in a circle, because each round
// waits for what is said after an earlier one.

// sparse reports whether chance draws the links of every round, in both directions.
func (c *Config) sparse() bool {
	return c.Graphs != nil && topology.Period(c.Graphs) == nil && topology.Mutual(c.Graphs)
}

// sparse is for such graphs.
type sparse struct{ twoWay }

func (t sparse) behind(l *link) bool {
	k := &t.p.kept[0]
	return k.messages != nil && l.round <= k.round && t.p.hears(l, k.round)
}

func (t sparse) judge(m *mailbox.Box, round, present uint64) mailbox.Verdict {
	return m.Nearest(round, present)
}

// Somebody hears the first messages, as far as the node is concerned: how long messages
// are is known from them.
func (t sparse) heard(round uint64) bool {
	return round == 0 || t.p.graphs.At(round).Degree(t.p.n.cfg.Self) > 0
}

// What was sent before is kept until somebody hears something newer.
func (t sparse) keep(c *checkpoint.Checkpoint, kept [checkpoint.Kept]sent, out sent) (before, last sent) {
	if out.messages == nil {
		return kept[0], kept[1]
	}
	c.Barrier = true
	return kept[1], out
}

// previous is the last round in which somebody hears the node, or the first of all.
func (t sparse) previous(c *checkpoint.Checkpoint) uint64 {
	round := c.Sent
	for round > 0 {
		if round--; t.p.graphs.Make(round).Degree(t.p.n.cfg.Self) > 0 {
			break
		}
	}
	return round
}

// Only those who were heard in the round wait for the word.
func (t sparse) stored(l *link, was uint64) {
	if t.p.n.check.Round > was && t.p.graphs.At(was).Weight(t.p.n.cfg.Self, l.id) != 0 {
		l.mark(t.p.n)
	}
}

func (t sparse) hello(l *link) { l.mark(t.p.n) }

// pass goes through the rounds in which the node has no neighbor, up to the first query,
// whose charge makes the round one to be stored. Only rounds with a neighbor or a query
// are reported.
func (t sparse) pass(ctx context.Context, round uint64, reports []RoundReport) (uint64, []RoundReport,
	error) {
	n, i := t.p.n, t.p.n.cfg.Self
	// after an answer, in a round without a neighbor
	if !n.asked && t.p.graphs.At(round-1).Degree(i) == 0 {
		reports = nil
	}
	for !n.asked && round < n.cfg.Rounds {
		if err := ctx.Err(); err != nil {
			return round, reports, err
		}
		g := t.p.graphs.Make(round)
		if g.Degree(i) > 0 {
			break
		}
		report := RoundReport{Round: round}
		n.cfg.Gate.Begin(round, nil)
		n.in = agent.Input{Kind: agent.Round, Round: round, View: &agent.View{SelfWeight: g.SelfWeight(i)}}
		if err := n.stepUntilDone(&report); err != nil {
			return round, reports, fmt.Errorf("round %d: %w", round, err)
		}
		if n.asked {
			reports = append(reports, report)
		}
		round++
	}
	return round, reports, nil
}
