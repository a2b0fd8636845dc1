package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sotto/agent"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/node/mark"
)

// link is what a node keeps for one neighbor. Node.mu guards it, but for mail.Spare,
// which belongs to the transport's goroutine for this neighbor.
type link struct {
	id    agent.ID
	mail  *mailbox.Box // nil for a neighbor that this node does not hear
	out   bool         // the neighbor hears this node
	other bool         // it waits for members in another way
	line
	presence
	farewell
	attestation *mark.Attestation // about the neighbor's ledger; nil: none was heard
}

// line is the way to a neighbor.
type line struct {
	// to be sent, in order; at most one hello, two rounds, one mark of progress and one
	// finished
	queue   []queued
	poke    chan struct{}
	sending []byte    // the frame that is on its way
	taken   uint64    // 1 + the last round whose frame the neighbor has taken
	failed  int       // attempts to send since the last that arrived
	shut    bool      // the last was refused for good: the next waits for its time
	hellos  int       // that the neighbor has said to this process
	asked   time.Time // others were asked how far they are, when this one was far ahead
}

// presence is what a neighbor has shown of itself.
type presence struct {
	round    uint64    // the latest
	finished bool      // it needs nothing more
	word     bool      // it has said what it knows of this node
	old      bool      // it takes frames of the first version alone
	absent   bool      // a round went on without it, and it has sent nothing since
	last     time.Time // that it sent a frame
	state    PeerState
	since    time.Time
	fault    string // the last one, until the neighbor is heard again
	faults   int    // frames that were refused, on either side
}

// farewell is what a change of members makes of a neighbor.
type farewell struct {
	onward  bool // it has gone on to the next roster
	leaves  bool // it is not in the next roster
	forgone bool // an amendment says that it is gone
}

// queued is a frame to be sent.
type queued struct {
	kind  frame.Kind
	round uint64
	frame []byte
	once  chan error // not nil: it is sent once, and what came of it goes here
}

// frame makes a frame of this node's. Node.mu is held.
func (n *Node) frame(kind frame.Kind, round uint64, payload []byte) queued {
	f := frame.Frame{Kind: kind, Run: n.cfg.Run, Sender: n.cfg.Self, Round: round, Payload: payload,
		Mark: n.mark(n.claim)}
	return queued{kind: kind, round: round, frame: frame.Append(nil, &f)}
}

// lower goes on with frames of the first version. Node.mu is held.
func (l *link) lower() {
	if l.old {
		return
	}
	l.old, l.word = true, true
	for i := range l.queue {
		l.queue[i].frame = frame.Plain(l.queue[i].frame)
	}
	l.queue = slices.DeleteFunc(l.queue, func(q queued) bool { return q.frame == nil })
	l.wake()
}

// renew goes on with frames of the newest version, all of them made anew. Node.mu is
// held.
func (l *link) renew(n *Node) {
	l.old, l.queue = false, nil
	l.hail(n)
	if !n.mute() {
		n.pace.resend(l, false)
	}
}

// drop takes frames of a kind out of the queue.
func (l *link) drop(kind frame.Kind) { l.unqueue(func(q queued) bool { return q.kind == kind }) }

// unqueue takes frames out of the queue.
func (l *link) unqueue(which func(q queued) bool) { l.queue = slices.DeleteFunc(l.queue, which) }

// push queues a frame unless it is queued already; rounds stay in order. Of more than two
// rounds the first is given up: a neighbor that is so far behind has been left out of
// that round.
func (l *link) push(p queued) {
	if l.old {
		if p.frame = frame.Plain(p.frame); p.frame == nil {
			return
		}
	}
	at, rounds, first := len(l.queue), 0, -1
	for i, q := range l.queue {
		if q.kind == p.kind && q.round == p.round {
			return
		}
		if q.kind != frame.Messages {
			continue
		}
		if rounds++; first < 0 {
			first = i
		}
		if p.kind == frame.Messages && p.round < q.round {
			at = min(at, i)
		}
	}
	l.queue = slices.Insert(l.queue, at, p)
	if p.kind == frame.Messages && rounds == checkpoint.Kept {
		first = min(first, at)
		l.queue = slices.Delete(l.queue, first, first+1)
	}
	l.wake()
}

// urgent queues a frame ahead of all others.
func (l *link) urgent(p queued) {
	l.queue = slices.Insert(l.queue, 0, p)
	l.wake()
}

// owes reports whether a frame of a kind is queued.
func (l *link) owes(kind frame.Kind) bool {
	return slices.ContainsFunc(l.queue, func(q queued) bool { return q.kind == kind })
}

// wake makes the sender look again, at once.
func (l *link) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// rest forgets that somebody wanted the sender to look again: the next attempt waits for
// its time.
func (l *link) rest() {
	select {
	case <-l.poke:
	default:
	}
}

// heard notes a sign of life. Node.mu is held.
func (l *link) heard(n *Node) {
	l.turn(n, Here)
	l.fault, n.known[l.id].fork.now = "", ""
}

// there notes that the neighbor has sent a frame of a round. Node.mu is held.
func (l *link) there(round uint64) {
	l.absent, l.last = false, time.Now()
	l.round = max(l.round, round)
}

// shows notes a frame of a round that is no hello. Node.mu is held.
func (l *link) shows(n *Node, round uint64) {
	l.heard(n)
	l.there(round)
}

// turn changes the neighbor's state. Node.mu is held.
func (l *link) turn(n *Node, s PeerState) {
	if l.state == s || l.state == Done {
		return
	}
	l.state, l.since = s, time.Now()
	switch s {
	case Late:
		n.cfg.Log.Warn("a peer is late", "peer", n.name(l.id), "round", n.check.Round)
	case Gone:
		n.cfg.Log.Warn("a peer cannot be reached", "peer", n.name(l.id), "round", n.check.Round,
			"error", l.fault)
	default:
		n.cfg.Log.Info("peer", "peer", n.name(l.id), "state", s.String())
	}
}

// complain logs a fault of the neighbor: the first, second, fourth and so on, so that
// none fills the log. Node.mu is held.
func (l *link) complain(n *Node, err error) {
	l.fault = err.Error()
	if l.faults++; l.faults&(l.faults-1) == 0 {
		n.cfg.Log.Warn("a frame was refused", "peer", n.name(l.id), "error", err, "so far", l.faults)
	}
}

// run sends what is queued until ctx ends: one frame in flight, again and again until the
// neighbor takes it.
func (l *link) run(ctx context.Context, n *Node) {
	wait := n.cfg.Retry
	for {
		n.mu.Lock()
		var p queued
		if len(l.queue) > 0 {
			p = l.queue[0]
		}
		l.sending = p.frame
		hellos := l.hellos
		n.mu.Unlock()
		if p.frame == nil {
			select {
			case <-ctx.Done():
				return
			case <-l.poke:
			}
			wait = n.cfg.Retry
			continue
		}
		if l.send(ctx, n, p, hellos) {
			wait = n.cfg.Retry
			continue
		}
		n.mu.Lock()
		poke := l.poke
		if l.shut { // else two nodes could refuse each other without a pause
			poke = nil
		}
		n.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-poke: // the neighbor shows itself
			timer.Stop()
		case <-timer.C:
		}
		wait = min(2*wait, n.cfg.RetryMax)
	}
}

// send tries once and reports whether the neighbor has taken the frame. hellos is how
// many the neighbor had said when the frame was chosen: after another one, whoever took
// the frame may be gone without having stored it, and the frame stays in the queue.
func (l *link) send(ctx context.Context, n *Node, p queued, hellos int) bool {
	sending, cancel := context.WithTimeout(ctx, n.cfg.SendTimeout)
	began := time.Now()
	err := n.cfg.Transport.Send(sending, l.id, frame.Stamp(p.frame, began))
	cancel()
	if err == nil {
		n.meter.Answer.Since(began)
	}
	twin := n.shown(err)
	n.mu.Lock()
	defer n.mu.Unlock()
	l.sending = nil
	var refused Refusal
	if p.once != nil {
		l.queue = slices.DeleteFunc(l.queue, func(q queued) bool { return q.once == p.once })
		p.once <- err
	}
	l.failed++
	l.shut = false
	switch {
	case err == nil:
		l.failed = 0
		if hellos == l.hellos || p.kind == frame.Hello {
			l.queue = slices.DeleteFunc(l.queue, func(q queued) bool {
				return q.kind == p.kind && q.round == p.round &&
					(p.kind != frame.Witness || same(q.frame, p.frame))
			})
		}
		n.check.Counts.Bytes += uint64(len(p.frame))
		if p.kind == frame.Messages {
			l.taken = max(l.taken, p.round+1)
		}
		// whom nobody waits for is late until it sends something itself
		if n.pace.waits() || l.state != Late {
			l.heard(n)
		}
		n.signal()
		return true
	case ctx.Err() != nil:
	case errors.Is(err, RefusedBusy):
		l.heard(n)
		return p.once != nil
	case errors.Is(err, RefusedEpoch):
		if p.kind == frame.Change {
			l.drop(frame.Change) // it has it
			return true
		}
		l.onward, l.queue = true, nil
		n.signal()
	case errors.Is(err, RefusedVersion) && p.frame[4] > frame.Oldest && !n.cfg.SignedTerms &&
		n.known[l.id].version <= frame.Oldest:
		n.cfg.Log.Warn("a peer takes frames of an older version", "peer", n.name(l.id))
		n.known[l.id].version = frame.Oldest
		l.lower()
		l.rest()
		n.signal()
	case errors.Is(err, RefusedVersion) && p.frame[4] == frame.Oldest && n.cfg.marks():
		l.complain(n, err)
		l.renew(n) // it has been upgraded
		l.rest()
	case errors.As(err, &refused):
		l.complain(n, err)
		return l.turned(n, refused, p.kind, twin)
	default:
		l.fault = err.Error()
		l.turn(n, Gone)
		n.signal()
	}
	return false
}

// turned notes why a frame of a kind was refused, and reports whether it is given up.
// twin is another process's mark that the neighbor has shown, if any. Node.mu is held.
func (l *link) turned(n *Node, refused Refusal, kind frame.Kind, twin *mark.Signed) bool {
	switch a := &n.known[l.id]; refused {
	case RefusedChange:
		a.fork.next = cmp.Or(a.fork.next, anotherRoster)
	case RefusedRun:
		a.fork.now = cmp.Or(a.fork.now, anotherRoster)
	case RefusedEarly:
		n.early(l)
	}
	if kind == frame.Change { // it must not keep others from being sent
		l.drop(frame.Change)
		return true
	}
	l.shut = refused == RefusedTwin || refused == RefusedTerms || refused == RefusedBehind
	here := mark.Mark{Round: n.check.Round, Generation: n.generation, Book: n.book}
	if twin != nil && !n.started && twin.After(&here) {
		n.barred = fmt.Errorf("%w: it was at %d, as its mark at %s shows, and this one stands at %d",
			ErrClone, twin.Round, n.name(l.id), n.check.Round)
		n.signal()
	}
	if refused == RefusedTerms {
		l.drop(frame.Hello)
		n.agree(l, ^n.cfg.terms())
		n.signal()
	}
	return false
}

// file takes in the attestation of a neighbor that has finished. One that does not hold
// is refused and named; what was held before stands.
func (l *link) file(n *Node, f *frame.Frame) error {
	if len(f.Payload) == 0 || n.cfg.Keys == nil {
		return nil
	}
	n.mu.Lock()
	last := l.attestation
	n.mu.Unlock()
	// frames of one sender come one at a time
	c, err := mark.ParseAttestation(f.Payload, n.cfg.Keys[l.id], last)
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	n.mu.Lock()
	l.attestation = c
	n.mu.Unlock()
	if n.cfg.OnAttestation != nil {
		n.cfg.OnAttestation(l.id, c)
	}
	return nil
}
