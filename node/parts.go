package node

import (
	"context"
	"slices"
	"time"

	"sotto/agent"
	"sotto/node/frame"
)

// Members that are gone for good may leave the others in parts that no link of the graph
// joins, and an amendment travels along links. So a node that misses a neighbor asks
// members that are no neighbors what they know, and one that hears of another roster asks
// whoever follows that: who has the amendment, or follows it already, sends it.

// asked is how many members a node asks at each deadline.
const asked = 2

// seeker looks for an amendment that has not come here, and hands one on. Node.mu guards
// what it reads.
type seeker struct{ n *Node }

// seek asks until ctx ends. The members' turns go round, from the node's own number on.
func (s *seeker) seek(ctx context.Context) {
	n := s.n
	every := time.NewTicker(n.cfg.Deadline)
	defer every.Stop()
	for turn := n.cfg.Self; ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		n.mu.Lock()
		if n.seeks() && slices.ContainsFunc(n.order, missed) {
			turn = n.inquire(turn)
		}
		n.mu.Unlock()
	}
}

// seeks reports whether an amendment could have been made that has not come here. Node.mu
// is held.
func (s *seeker) seeks() bool {
	n := s.n
	return n.next == nil && !n.check.Finished && n.cfg.OnAmendment != nil && n.possible() == nil
}

func missed(l *link) bool { return l.state == Late || l.state == Gone }

// inquire asks the members after the one whose turn was last, and returns the last of
// them. Node.mu is held.
func (s *seeker) inquire(turn agent.ID) agent.ID {
	n, left := s.n, asked
	for range n.known {
		if turn = (turn + 1) % agent.ID(len(n.known)); turn == n.cfg.Self || n.links[turn] != nil {
			continue
		}
		n.testify(turn, nil, true)
		if left--; left == 0 {
			break
		}
	}
	return turn
}

// deliver sends an amendment to a member, by its link or without one. Node.mu is held.
func (s *seeker) deliver(to agent.ID, q queued) {
	n := s.n
	if l := n.links[to]; l != nil {
		l.drop(frame.Change)
		l.urgent(q)
	} else {
		n.courier.Send(to, q.frame)
	}
}

// announce sends the amendment, if there is one, to a member. Node.mu is held.
func (s *seeker) announce(to agent.ID) {
	if n := s.n; n.next != nil && len(n.next.Text) <= frame.MaxAmendment {
		n.deliver(to, n.frame(frame.Change, n.check.Round, n.next.Text))
	}
}

// inform tells a member that follows an earlier roster what has followed that. self is
// this member's number there. Node.mu is held.
func (s *seeker) inform(to agent.ID, f *frame.Frame, text []byte, self agent.ID) {
	n := s.n
	if f.Kind != frame.Hello && f.Kind != frame.Witness || len(text) > frame.MaxAmendment {
		return
	}
	q := n.frame(frame.Change, n.check.Round, nil)
	q.frame = frame.Append(nil, &frame.Frame{Kind: frame.Change, Run: f.Run, Sender: self,
		Round: n.check.Round, Payload: text, Mark: n.mark(n.claim)})
	n.deliver(to, q)
}
