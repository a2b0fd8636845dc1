package node

import (
	"fmt"

	"sotto/agent"
	"sotto/node/frame"
)

// greetings are what nodes that meet in pairs say to all neighbors before their first
// meeting: the outbox of Start, one broadcast. A node's own stays in its checkpoint and
// is sent again to each neighbor that says hello; those that it hears it keeps in memory
// alone. The algorithm finds in the inbox of each of its wakes what has come so far.
type greetings struct {
	n     *Node
	own   []byte                     // encoded; nil: nothing is said. Written once, under Node.mu
	heard map[agent.ID]agent.Message // Node.mu guards it
}

// introduce takes over the outbox of Start.
func (g *greetings) introduce(outbox []agent.Message) error {
	if len(outbox) == 0 {
		return nil
	}
	n, m := g.n, outbox[0]
	if len(outbox) > 1 || m.To != agent.Broadcast || len(m.Body) > n.limits.values || !m.Body.Finite() {
		return fmt.Errorf("%w: %d messages of %d values before the first meeting, allowed: one broadcast of "+
			"at most %d, finite ones", ErrDiverged, len(outbox), len(m.Body), n.limits.values)
	}
	m.From, m.Round = n.cfg.Self, 0
	n.mu.Lock() // neighbors may say hello already
	defer n.mu.Unlock()
	g.own = agent.AppendMessage(nil, &m)
	return nil
}

// queue queues this node's. Node.mu is held.
func (g *greetings) queue(l *link) {
	if g.own != nil && l.out {
		l.push(g.n.frame(frame.Messages, 0, g.own))
	}
}

// take takes in a neighbor's. The first one stands.
func (g *greetings) take(l *link, f *frame.Frame) error {
	n := g.n
	msgs, err := frame.DecodeMessages(nil, f, n.cfg.Self, n.limits.values)
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	if len(msgs) != 1 || f.Round != 0 {
		return fmt.Errorf("%w: %w: %d messages of round %d, allowed: one before the first meeting",
			RefusedFrame, frame.ErrMalformed, len(msgs), f.Round)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.shows(n, f.Round)
	if _, again := g.heard[l.id]; again {
		n.check.Counts.Replayed++
	} else {
		g.heard[l.id] = msgs[0]
	}
	return nil
}

// inbox is what has come, sorted by sender.
func (g *greetings) inbox() (inbox []agent.Message) {
	g.n.mu.Lock()
	defer g.n.mu.Unlock()
	for _, l := range g.n.order {
		if m, ok := g.heard[l.id]; ok {
			inbox = append(inbox, m)
		}
	}
	return inbox
}
