package node

import (
	"errors"
	"fmt"

	"sotto/agent"
)

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
		n.links[from].greet(n, hello)
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
	} else if !n.unknown {
		n.unknown = true
		n.cfg.Log.Warn("a member that is no neighbor sends frames", "peer", n.name(from), "error", err)
	}
}

// take reads a frame and takes in what it holds. It returns the word of a neighbor that
// is there or has finished, also where the claim behind it is refused.
func (n *Node) take(from agent.ID, b []byte) (hello *Frame, err error) {
	f, err := DecodeFrame(b, n.limits.payload)
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
	if l == nil || f.Kind == Progress && !l.out || !fromAll(f.Kind) && l.mail == nil {
		return nil, RefusedSender
	}
	switch f.Kind {
	case Progress:
		l.reached(n, f.Round)
		return nil, nil
	case Hello, Finished:
		return &f, l.file(n, &f)
	}
	return nil, n.pace.take(l, &f)
}

// fromAll reports whether a kind of frame comes also from neighbors that this node does
// not hear.
func fromAll(k FrameKind) bool { return k == Hello || k == Finished || k == Progress }

// reached notes how far a neighbor is that hears this node.
func (l *link) reached(n *Node, round uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := l.round
	if l.shows(n, round); l.round > before {
		n.signal()
	}
}

// greet answers a hello with the frames that the neighbor may lack, and notes a neighbor
// that has finished. Node.mu is held.
func (l *link) greet(n *Node, f *Frame) {
	l.there(f.Round)
	if f.Kind == Finished {
		l.finished = true
		n.pace.release(l)
		l.turn(n, Done)
		n.signal()
	} else {
		l.hellos++
		n.pace.resend(l, true) // what it does not lack it drops
	}
	l.wake()
}
