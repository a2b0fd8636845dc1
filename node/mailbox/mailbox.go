// Package mailbox keeps the frames of messages that a node has from one neighbor, and
// says which others it has a use for.
package mailbox

import "sotto/agent"

// A Slot holds one sender's messages of one round.
type Slot struct {
	Full     bool
	Round    uint64
	Messages []agent.Message
}

// A Box keeps what one in-neighbor has sent: its frame of the present round and one of a
// later round. Memory is bounded by three frames for each in-neighbor, the third being
// read.
type Box struct {
	Now, Later Slot
	Spare      []agent.Message // of the frame that is being read
}

// Advance makes round the present one. What came for it before stays, and what came for
// rounds before it goes.
func (b *Box) Advance(round uint64) {
	if b.Now.Full && b.Now.Round == round {
		return
	}
	b.Now.Full = false
	switch {
	case b.Later.Full && b.Later.Round == round:
		b.Now, b.Later = b.Later, b.Now
	case b.Later.Round < round:
		b.Later.Full = false
	}
}

// Newest makes the last frame that came the present one, where nobody waits for a certain
// round.
func (b *Box) Newest() {
	if b.Later.Full {
		b.Now, b.Later = b.Later, b.Now
		b.Later.Full = false
	}
}

// Put takes the messages that were read into Spare, of a round that is not before the
// present one.
func (b *Box) Put(round, present uint64) {
	s := &b.Now
	if round > present {
		s = &b.Later
	}
	s.Full, s.Round = true, round
	s.Messages, b.Spare = b.Spare, s.Messages
}

// Lacks reports whether a frame of a later round alone has come.
func (b *Box) Lacks() bool { return b.Later.Full && !b.Now.Full }

// A Verdict is on a frame of a round, while another is present.
type Verdict uint8

// The verdicts.
const (
	Take     Verdict = iota
	Stale            // of a round before
	Replayed         // it has come already
	Ahead            // of a round that it is too early for
)

// Judge says what becomes of a frame. Under a barrier no neighbor is more than one round
// ahead; without one it may be.
func (b *Box) Judge(round, present uint64, barrier bool) Verdict {
	switch {
	case round < present:
		return Stale
	case b.has(round, present):
		return Replayed
	case round > present+1 && barrier:
		return Ahead
	case round > present && b.Later.Full && round < b.Later.Round:
		return Stale
	}
	return Take
}

// Nearest says what becomes of a frame where members are far apart: of later rounds the
// first one counts, because frames of a link come in order, and others are to be sent
// again.
func (b *Box) Nearest(round, present uint64) Verdict {
	switch {
	case round < present:
		return Stale
	case b.has(round, present):
		return Replayed
	case round > present && b.Later.Full && round > b.Later.Round:
		return Ahead
	}
	return Take
}

// has reports whether the messages of a round have come.
func (b *Box) has(round, present uint64) bool {
	return round == present && b.Now.Full || b.Later.Full && b.Later.Round == round
}
