package node

import (
	"errors"
	"fmt"
	"time"

	"sotto/agent"
)

// slot holds one sender's messages of one round.
type slot struct {
	full  bool
	round uint64
	msgs  []agent.Message
}

// mailbox keeps what one in-neighbor has sent: its frame of the present round and one of
// a later round. Memory is bounded by three frames for each in-neighbor, the third being
// read.
type mailbox struct {
	now, later slot
	spare      []agent.Message // of the frame that is being read
}

// advance makes round the present one. What came for it before stays.
func (m *mailbox) advance(round uint64) {
	if m.now.full && m.now.round == round {
		return
	}
	m.now.full = false
	if m.later.full && m.later.round == round {
		m.now, m.later = m.later, m.now
	}
}

// newest makes the last frame that came the present one, where nobody waits for a certain
// round.
func (m *mailbox) newest() {
	if m.later.full {
		m.now, m.later = m.later, m.now
		m.later.full = false
	}
}

// verdict on a frame of a round, while another is present.
type verdict uint8

const (
	take verdict = iota
	stale
	replay
	ahead
)

// judge says what becomes of a frame. Under the barrier no neighbor is more than one
// round ahead; without it one may be.
func (m *mailbox) judge(round, present uint64, barrier bool) verdict {
	switch {
	case round < present:
		return stale
	case round == present && m.now.full, m.later.full && m.later.round == round:
		return replay
	case round > present+1 && barrier:
		return ahead
	case round > present && m.later.full && round < m.later.round:
		return stale
	}
	return take
}

// put takes the messages that were read into spare.
func (m *mailbox) put(round, present uint64) {
	s := &m.now
	if round > present {
		s = &m.later
	}
	s.full, s.round = true, round
	s.msgs, m.spare = m.spare, s.msgs
}

// receive is the transport's handler. It names the sender of whatever it refuses.
func (n *Node) receive(from agent.ID, b []byte) error {
	hello, err := n.take(from, b)
	n.mu.Lock()
	defer n.mu.Unlock()
	if hello != nil {
		n.links[from].heard(n)
	}
	if err != nil {
		n.refuse(from, err)
	}
	if hello != nil { // last: a node that waits for this word alone leaves on it
		n.greet(n.links[from], hello)
	}
	return err
}

// refuse counts a frame that was not taken. Node.mu is held.
func (n *Node) refuse(from agent.ID, err error) {
	if errors.Is(err, RefusedBusy) { // no fault of the sender's
		n.check.Counts.Busy++
		return
	}
	n.check.Counts.Refused++
	if l := n.links[from]; l != nil {
		l.complain(n, err)
	} else if !n.strangers {
		n.strangers = true
		n.log.Warn("a member that is no neighbor sends frames", "peer", n.name(from), "error", err)
	}
}

// take reads a frame and takes in what it holds. It returns the word of a neighbor that
// is there or has finished, also where the claim behind it is refused.
func (n *Node) take(from agent.ID, b []byte) (hello *Frame, err error) {
	f, err := DecodeFrame(b, n.maxPayload)
	switch {
	case errors.Is(err, ErrFrameVersion):
		return nil, fmt.Errorf("%w: %w", RefusedVersion, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", RefusedFrame, err)
	case f.Run != n.cfg.Run:
		return nil, fmt.Errorf("%w: it follows roster %x, this node %x", RefusedRun, f.Run[:4], n.cfg.Run[:4])
	case f.Sender != from:
		return nil, fmt.Errorf("%w: the frame says agent %d", RefusedSender, f.Sender)
	}
	l := n.links[from]
	switch {
	case l == nil, f.Kind == Progress && !l.out, f.Kind != Hello && f.Kind != Finished &&
		f.Kind != Progress && l.mail == nil:
		return nil, RefusedSender
	case f.Kind == Messages && n.cfg.Graphs != nil && f.Round >= n.cfg.Rounds:
		return nil, verdictError(ahead, &f)
	case f.Kind == Messages && n.cfg.Graphs != nil && n.graph(f.Round).Weight(n.cfg.Self, from) == 0:
		return nil, fmt.Errorf("%w: round %d has no link from it", RefusedSender, f.Round)
	}
	switch {
	case f.Kind == Progress:
		n.reached(l, f.Round)
		return nil, nil
	case f.Kind == Hello || f.Kind == Finished:
		return &f, n.file(l, &f)
	case (n.walks != nil) != (f.Kind == Token || f.Kind == Taken):
		return nil, fmt.Errorf("%w: kind %d is not of this run's pace", RefusedFrame, f.Kind)
	case n.walks != nil:
		return nil, n.token(l, &f)
	case n.cfg.Pairs != (f.Kind != Messages):
		return nil, fmt.Errorf("%w: kind %d is not of this run's pace", RefusedFrame, f.Kind)
	case n.cfg.Pairs:
		return nil, n.convene(l, &f)
	}
	if v := n.judge(l, &f, false); v != take {
		return nil, verdictError(v, &f)
	}
	// the first message, and fits takes no second one
	if len(f.Payload) > 0 && agent.IsBF16(f.Payload) != n.cfg.BF16 {
		return nil, fmt.Errorf("%w: %w: values of another format than the run's", RefusedFrame, ErrFrame)
	}
	msgs, err := decodeMessages(l.mail.spare, &f, n.cfg.Self, n.maxValues)
	l.mail.spare = msgs
	if err == nil {
		err = n.fits(msgs)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	return nil, verdictError(n.judge(l, &f, true), &f) // the round may have passed meanwhile
}

// fits refuses messages that are not like this node's own: every member runs the same
// algorithm, which sends a neighbor at most one message a round, always of one length. A
// vector of another length cannot be mixed.
func (n *Node) fits(msgs []agent.Message) error {
	for i := range msgs {
		if i > 0 || len(msgs[i].Body) != n.values {
			return fmt.Errorf("%w: message %d has %d values, allowed: one message, of %d", ErrFrame, i,
				len(msgs[i].Body), n.values)
		}
		// all mass there is, and rounding
		if w, most := msgs[i].Mass, float64(n.cfg.Graph.Agents()); n.cfg.Mass != (w > 0) || w < 0 ||
			w > most*(1+1e-9) {
			return fmt.Errorf("%w: mass %v, allowed: above 0 and at most %v with push-sum, 0 without",
				ErrFrame, w, most)
		}
	}
	return nil
}

// reached notes how far a neighbor is that hears this node.
func (n *Node) reached(l *link, round uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.heard(n)
	l.absent, l.last = false, time.Now()
	if round > l.round {
		l.round = round
		n.signal()
	}
}

func verdictError(v verdict, f *Frame) error {
	if v == ahead {
		return fmt.Errorf("%w: round %d", RefusedAhead, f.Round)
	}
	return nil
}

// judge finds what becomes of f and, if put, takes the messages that were read.
func (n *Node) judge(l *link, f *Frame, put bool) verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.heard(n)
	l.absent, l.last = false, time.Now()
	l.round = max(l.round, f.Round)
	present := n.expected(l, n.check.Round)
	v := l.mail.judge(f.Round, present, n.cfg.Missing == Wait && n.clock == nil)
	if n.sparse {
		v = l.mail.nearest(f.Round, present)
	}
	switch v {
	case stale:
		n.check.Counts.Stale++
	case replay:
		n.check.Counts.Replayed++
	case take:
		if put {
			l.mail.put(f.Round, present)
			n.signal()
		}
	}
	return v
}
