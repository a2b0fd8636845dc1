package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"sotto/agent"
)

// link is what a node keeps for one neighbor. Node.mu guards it, but for mail.spare,
// which belongs to the transport's goroutine for this neighbor.
type link struct {
	id   agent.ID
	mail *mailbox // nil for a neighbor that this node does not hear
	out  bool     // the neighbor hears this node
	line
	presence
	attestation *Attestation // about the neighbor's ledger; nil: none was heard
}

// line is the way to a neighbor.
type line struct {
	// to be sent, in order; at most one hello, two rounds, one mark of progress and one
	// finished
	queue   []queued
	poke    chan struct{}
	sending []byte // the frame that is on its way
	taken   uint64 // 1 + the last round whose frame the neighbor has taken
	failed  int    // attempts to send since the last that arrived
	hellos  int    // that the neighbor has said to this process
}

// presence is what a neighbor has shown of itself.
type presence struct {
	round    uint64    // the latest
	finished bool      // it needs nothing more
	absent   bool      // a round went on without it, and it has sent nothing since
	last     time.Time // that it sent a frame
	state    PeerState
	since    time.Time
	fault    string // the last one, until the neighbor is heard again
	faults   int    // frames that were refused, on either side
}

// queued is a frame to be sent.
type queued struct {
	kind  FrameKind
	round uint64
	frame []byte
	once  chan error // not nil: it is sent once, and what came of it goes here
}

// frame makes a frame of this node's.
func (n *Node) frame(kind FrameKind, round uint64, payload []byte) queued {
	return queued{kind: kind, round: round, frame: AppendFrame(nil, &Frame{
		Kind:    kind,
		Run:     n.cfg.Run,
		Sender:  n.cfg.Self,
		Round:   round,
		Payload: payload,
	})}
}

// drop takes frames of a kind out of the queue.
func (l *link) drop(kind FrameKind) {
	l.queue = slices.DeleteFunc(l.queue, func(q queued) bool { return q.kind == kind })
}

// push queues a frame unless it is queued already; rounds stay in order. Of more than two
// rounds the first is given up: a neighbor that is so far behind has been left out of
// that round.
func (l *link) push(p queued) {
	at, rounds, first := len(l.queue), 0, -1
	for i, q := range l.queue {
		if q.kind == p.kind && q.round == p.round {
			return
		}
		if q.kind != Messages {
			continue
		}
		if rounds++; first < 0 {
			first = i
		}
		if p.kind == Messages && p.round < q.round {
			at = min(at, i)
		}
	}
	l.queue = slices.Insert(l.queue, at, p)
	if p.kind == Messages && rounds == keptRounds {
		first = min(first, at)
		l.queue = slices.Delete(l.queue, first, first+1)
	}
	l.wake()
}

// wake makes the sender look again, at once.
func (l *link) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// heard notes a sign of life. Node.mu is held.
func (l *link) heard(n *Node) {
	l.turn(n, Here)
	l.fault = ""
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
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.poke: // the neighbor shows itself
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
	err := n.cfg.Transport.Send(sending, l.id, p.frame)
	cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	l.sending = nil
	var refused Refusal
	if p.once != nil {
		l.queue = slices.DeleteFunc(l.queue, func(q queued) bool { return q.once == p.once })
		p.once <- err
	}
	l.failed++
	switch {
	case err == nil:
		l.failed = 0
		if hellos == l.hellos || p.kind == Hello {
			l.queue = slices.DeleteFunc(l.queue, func(q queued) bool {
				return q.kind == p.kind && q.round == p.round
			})
		}
		n.check.Counts.Bytes += uint64(len(p.frame))
		if p.kind == Messages {
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
	case errors.As(err, &refused):
		l.complain(n, err)
	default:
		l.fault = err.Error()
		l.turn(n, Gone)
		n.signal()
	}
	return false
}
