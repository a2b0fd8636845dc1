package node

import (
	"errors"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/topology"
)

// ErrDiverged says that the algorithm sends what no neighbor takes, or asks where nothing
// can be asked, numbers that are not finite most often: the next start would charge for
// the same.
var ErrDiverged = errors.New("node: the algorithm has diverged")

// sent is one round's outbox, as it is stored.
type sent struct {
	round uint64
	// agent.AppendMessage one after the other; not nil: the round was sent, maybe without
	// a message
	messages []byte
	// the frame, where all neighbors get the same; messages are then a part of it, unless
	// they were stored by an earlier process
	shared []byte
	claim  mark.Claim // zero: the messages were not stored yet, or there are none
}

// frame is what goes to one neighbor. Frames that differ are made again when they are
// asked for. Node.mu is held.
func (s *sent) frame(n *Node, to agent.ID) []byte {
	if s.shared != nil {
		return s.shared
	}
	f := frame.Frame{Kind: frame.Messages, Run: n.cfg.Run, Sender: n.cfg.Self, Round: s.round,
		Payload: s.messages, Mark: n.mark(s.claim)}
	own, all := []byte(nil), true
	for b := s.messages; len(b) > 0; {
		receiver, size, err := agent.MessageHead(b)
		if err != nil {
			panic("node: a stored outbox does not decode: " + err.Error()) // its checksum fits
		}
		if receiver != agent.Broadcast && all { // the first that is not for all
			own, all = append(own, s.messages[:len(s.messages)-len(b)]...), false
		}
		if !all && (receiver == agent.Broadcast || receiver == to) {
			own = append(own, b[:size]...)
		}
		b = b[size:]
	}
	if !all {
		f.Payload = own
	}
	b := frame.Append(make([]byte, 0, frame.HeaderSize+len(f.Payload)+len(f.Mark)), &f)
	if all {
		s.shared = b
	}
	return b
}

// pack encodes what the algorithm sends for a round whose graph is g.
func (m *mailing) pack(g *topology.Graph, outbox []agent.Message, round uint64) (sent, error) {
	n, out := m.n, sent{round: round}
	values, all := 0, true
	for i := range outbox {
		values += len(outbox[i].Body)
		all = all && outbox[i].To == agent.Broadcast
	}
	size := frame.HeaderSize + len(outbox)*agent.MessageSize(0) + 4*values + mark.Size
	n.broadcasts.Store(all)
	if m.unused(); cap(m.spare) < size {
		m.spare = make([]byte, 0, size)
	}
	b := m.spare[:frame.HeaderSize] // which is filled in last
	m.spare, values = nil, 0
	for _, msg := range outbox {
		if to := msg.To; to != agent.Broadcast && (int(to) >= g.Agents() || g.Weight(to, n.cfg.Self) == 0) {
			return out, fmt.Errorf("round %d: message to %d, which does not hear this node", round, to)
		}
		if values += len(msg.Body); values > n.limits.values || !msg.Body.Finite() {
			return out, fmt.Errorf("%w: round %d: it sends %d values, allowed: at most %d, finite ones",
				ErrDiverged, round, values, n.limits.values)
		}
		msg.From, msg.Round = n.cfg.Self, round
		b = n.encode(b, &msg)
	}
	if out.messages = b[frame.HeaderSize:]; all {
		f := frame.Frame{Kind: frame.Messages, Run: n.cfg.Run, Sender: n.cfg.Self, Round: round,
			Payload: out.messages}
		if n.cfg.marks() {
			f.Mark = []byte{} // it comes when all that it says is stored
		}
		frame.AppendHeader(b[:0], &f)
		out.shared = b
	}
	return out, nil
}

// vouch adds the mark to a frame that was made before it was stored. Node.mu is held.
func (s *sent) vouch(n *Node) {
	if n.cfg.marks() && len(s.shared) == frame.HeaderSize+len(s.messages) {
		s.shared = append(s.shared, n.mark(s.claim)...)
	}
}

// retire takes the memory of a frame that is kept no longer, when before and out take the
// places of the kept ones. Node.mu is held.
func (m *mailing) retire(before, out *sent) {
	for i := range m.kept {
		if b := m.kept[i].shared; b != nil && !same(b, before.shared) && !same(b, out.shared) {
			m.spare = b
		}
	}
}

// unused lets go of the spare memory where it is still to be sent to somebody.
func (m *mailing) unused() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	for _, l := range m.n.order {
		if same(m.spare, l.sending) ||
			slices.ContainsFunc(l.queue, func(q queued) bool { return same(m.spare, q.frame) }) {
			m.spare = nil
		}
	}
}

// same reports whether two frames are in one place.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// resent returns what was sent last as the messages of another round.
func (m *mailing) resent(round uint64) sent {
	n, messages := m.n, []byte{}
	for b := m.last().messages; len(b) > 0; {
		var msg agent.Message
		size, err := agent.DecodeMessage(b, n.limits.values, &msg)
		if err != nil {
			panic("node: a stored outbox does not decode: " + err.Error()) // its checksum fits
		}
		msg.From, msg.Round = n.cfg.Self, round
		messages, b = n.encode(messages, &msg), b[size:]
	}
	return sent{round: round, messages: messages}
}

// encode appends a message in the run's format.
func (n *Node) encode(b []byte, m *agent.Message) []byte {
	if n.cfg.BF16 {
		return agent.AppendMessageBF16(b, m)
	}
	return agent.AppendMessage(b, m)
}
