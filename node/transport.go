package node

import (
	"context"
	"errors"
	"fmt"

	"sotto/agent"
	"sotto/node/mark"
)

// Transport carries frames between the members of a roster, whom it authenticates. It may
// lose, repeat and delay them; the node sends again until a frame is taken, and drops
// what it has seen. What a handler returns travels as Answer writes it, and Send returns
// what FromAnswer reads. Package nodetest checks every transport.
type Transport interface {
	// Serve starts handing arriving frames to h, in a goroutine of the transport's, one
	// at a time for each sender. It is called once, before the first Send.
	Serve(h Handler)
	// Send returns nil when the handler of peer to has taken the frame, a Refusal when
	// that handler refused it, and an error that wraps ErrUnreachable when nobody knows.
	// It keeps no reference to frame. Sends to different peers may run at the same time.
	Send(ctx context.Context, to agent.ID, frame []byte) error
	// Close ends all sends and, when the handlers in progress are through, returns. No
	// handler runs after it.
	Close() error
}

// Handler takes a frame from an authenticated member. A frame whose header frame.Size
// refuses, or that ends early, is handed over as far as it was read, so that the handler
// can name its sender. The bytes are the handler's until it returns. The error is nil or
// wraps a Refusal, which the sender gets; the rest of the error stays here.
type Handler func(from agent.ID, frame []byte) error

// ErrUnreachable says that a frame may not have arrived.
var ErrUnreachable = errors.New("node: peer cannot be reached")

// Refusal says why a peer did not take a frame. It is one byte on the wire, which a mark
// follows for RefusedTwin; 0 says that the frame was taken.
type Refusal uint8

const (
	// RefusedFrame: the bytes are not a frame, or hold messages that may not be there.
	RefusedFrame Refusal = iota + 1
	// RefusedVersion: the peer speaks another version of the format.
	RefusedVersion
	// RefusedRun: the peer follows another roster, and hence another experiment, graph or
	// membership.
	RefusedRun
	// RefusedSender: the peer does not listen to this member in this graph.
	RefusedSender
	// RefusedAhead: the frame is of a round that cannot have begun yet at the peer.
	RefusedAhead
	// RefusedBusy: the peer is in another meeting, or has consented to one.
	RefusedBusy
	// RefusedBehind: the sender was further than it says: it was rolled back.
	RefusedBehind
	// RefusedTerms: the peer waits for members in another way.
	RefusedTerms
	// RefusedLiar: the sender, or who holds its key, gave one round two contents, and the
	// peer's owner does not take part with such a member.
	RefusedLiar
	// RefusedEpoch: the peer has gone on to the roster that follows this one.
	RefusedEpoch
	// RefusedTwin: since the sender's hello another process with its key has gone on.
	RefusedTwin
	// RefusedChange: the peer has taken on another amendment than the one sent.
	RefusedChange
	// RefusedEarly: the peer is still to come to the roster that the sender follows.
	RefusedEarly
)

var refusals = [...]string{"taken", "malformed frame", "another version of the frame format",
	"another roster", "not a neighbor", "a round ahead of the peer's", "busy with another meeting",
	"behind what it has seen of this member", "other terms of waiting", "one round with two contents",
	"gone on to the next roster", "another process with this member's key goes on", "another amendment",
	"that roster does not hold yet"}

func (r Refusal) Error() string {
	if int(r) < len(refusals) {
		return "node: refused by the peer: " + refusals[r]
	}
	return fmt.Sprintf("node: refused by the peer: reason %d", uint8(r))
}

// A Twin is RefusedTwin with what shows it: a mark that the other process has signed with
// the sender's key.
type Twin struct{ Mark []byte }

func (t *Twin) Error() string { return RefusedTwin.Error() }
func (t *Twin) Unwrap() error { return RefusedTwin }

// Answer is what a transport answers for a handler's error: one byte, 0 for nil and
// RefusedFrame for an error without a Refusal; RefusedTwin has the mark behind it.
func Answer(err error) []byte {
	var r Refusal
	var twin *Twin
	switch {
	case err == nil:
		return []byte{0}
	case errors.As(err, &twin) && len(twin.Mark) == mark.Size:
		return append([]byte{byte(RefusedTwin)}, twin.Mark...)
	case errors.As(err, &r) && r != RefusedTwin:
		return []byte{byte(r)}
	}
	return []byte{byte(RefusedFrame)}
}

// MaxAnswer is the length of the longest answer.
const MaxAnswer = 1 + mark.Size

// AnswerSize is the length of an answer that begins with a code.
func AnswerSize(code byte) int {
	if code == byte(RefusedTwin) {
		return MaxAnswer
	}
	return 1
}

// FromAnswer is what Send returns for an answer; a malformed one is of nobody.
func FromAnswer(b []byte) error {
	switch {
	case len(b) == 0 || len(b) != AnswerSize(b[0]):
		return fmt.Errorf("%w: an answer of %d bytes", ErrUnreachable, len(b))
	case b[0] == 0:
		return nil
	case b[0] == byte(RefusedTwin):
		return &Twin{b[1:]}
	}
	return Refusal(b[0])
}
