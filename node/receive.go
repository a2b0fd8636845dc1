package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"sotto/agent"
	"sotto/node/frame"
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
		if errors.Is(err, RefusedBehind) || errors.Is(err, RefusedTerms) {
			n.testify(from, nil, false) // so that it learns where it was
			if l := n.links[from]; l != nil {
				l.announce(n) // ahead of that: it may be too late for it afterwards
			}
		}
	}
	if hello != nil { // last: a node that waits for this word alone leaves on it
		n.links[from].greet(n, hello)
	}
	return err
}

// refuse counts a frame that was not taken. Node.mu is held.
func (n *Node) refuse(from agent.ID, err error) {
	if errors.Is(err, RefusedEpoch) || errors.Is(err, RefusedBusy) { // no fault of the sender's
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
func (n *Node) take(from agent.ID, b []byte) (hello *frame.Frame, err error) {
	f, err := frame.Decode(b, n.limits.payload)
	switch {
	case errors.Is(err, frame.ErrVersion):
		return nil, fmt.Errorf("%w: %w", RefusedVersion, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", RefusedFrame, err)
	case f.Run != n.cfg.Run:
		return nil, n.other(from, &f)
	case f.Sender != from:
		return nil, fmt.Errorf("%w: the frame says agent %d", RefusedSender, f.Sender)
	}
	n.mu.Lock()
	greeting := n.greeting
	n.mu.Unlock()
	if greeting && f.Kind != frame.Hello && f.Kind != frame.Witness && f.Kind != frame.Finished &&
		f.Kind != frame.Change {
		n.overhear(&f)
		return nil, RefusedBusy
	}
	if err := n.examine(&f); err != nil {
		return nil, err
	}
	l := n.links[from]
	switch f.Kind {
	case frame.Witness:
		return nil, n.hear(&f)
	case frame.Change:
		return nil, n.amend(&f)
	}
	if l == nil || f.Kind == frame.Progress && !l.out || !fromAll(f.Kind) && l.mail == nil {
		return nil, RefusedSender
	}
	switch f.Kind {
	case frame.Progress:
		l.reached(n, f.Round)
		return nil, nil
	case frame.Hello:
		return &f, n.met(l, &f)
	case frame.Finished:
		return &f, l.file(n, &f)
	}
	return nil, n.pace.take(l, &f)
}

// met refuses a neighbor that waits for others in another way than this node.
func (w *witness) met(l *link, f *frame.Frame) error {
	n := w.n
	if len(f.Payload) != frame.TermsSize || !n.cfg.marks() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	terms := binary.LittleEndian.Uint64(f.Payload)
	n.known[l.id].clock.Take(terms>>frame.ClockAt, time.Now())
	if terms&proceeds == n.cfg.terms()&proceeds {
		return nil
	}
	n.agree(l, terms)
	n.signal()
	return fmt.Errorf("%w: this node is to %s", RefusedTerms, n.cfg.Missing)
}

// fromAll reports whether a kind of frame comes also from neighbors that this node does
// not hear.
func fromAll(k frame.Kind) bool {
	return k == frame.Hello || k == frame.Finished || k == frame.Progress
}

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
func (l *link) greet(n *Node, f *frame.Frame) {
	l.there(f.Round)
	if f.Kind == frame.Finished {
		l.finished = true
		n.pace.release(l)
		l.turn(n, Done)
		n.signal()
	} else {
		l.hellos++
		if n.cfg.marks() {
			if !l.word { // whoever took this node's hello may be gone
				l.hail(n)
			}
			n.testify(l.id, nil, false)
		}
		l.announce(n) // it goes first
		if !n.mute() {
			n.pace.resend(l, true) // what it does not lack it drops
		}
	}
	l.wake()
}

// agree notes whether a neighbor runs under the same terms. Where all have signed them it
// does, whatever it says. Node.mu is held.
func (w *witness) agree(l *link, terms uint64) {
	l.other = !w.n.cfg.SignedTerms && terms&proceeds != w.n.cfg.terms()&proceeds
}

// differ is the error of a node whose neighbors wait in another way. One is enough where
// every round waits for everybody. A node that goes on without whoever is missing does so
// without those, unless nobody else has answered; late says that its deadline has passed.
// Node.mu is held.
func (w *witness) differ(late bool) error {
	n := w.n
	var first *link
	others, alike := 0, 0
	for _, l := range n.order {
		switch {
		case l.other:
			if others++; first == nil {
				first = l
			}
		case l.word:
			alike++
		}
	}
	if first == nil || n.cfg.Missing == Proceed && others < len(n.order) && (!late || alike > 0) {
		return nil
	}
	return fmt.Errorf("%w: this node is to %s for peers that miss a deadline, %s is not; allowed: "+
		"the same --missing for all members", ErrTerms, n.cfg.Missing, n.name(first.id))
}
