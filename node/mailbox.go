package node

import "sotto/agent"

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
	replayed
	ahead
)

// judge says what becomes of a frame. Under the barrier no neighbor is more than one
// round ahead; without it one may be.
func (m *mailbox) judge(round, present uint64, barrier bool) verdict {
	switch {
	case round < present:
		return stale
	case round == present && m.now.full, m.later.full && m.later.round == round:
		return replayed
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
