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
	// to be sent, in order; at most one hello, two rounds, one mark of progress and one
	// finished
	queue []parcel
	poke  chan struct{}

	taken    uint64 // 1 + the last round whose frame the neighbor has taken
	round    uint64 // the latest that the neighbor has shown
	finished bool   // the neighbor needs nothing more
	failed   int    // attempts to send since the last that arrived
	met      uint64 // 1 + the neighbor's last meeting with this node that is complete
	reply    []byte // this node's message in it
	// 1 + this node's last meeting with the neighbor that was given up, until its reply
	// comes
	missed uint64
	absent bool      // a round went on without it, and it has sent nothing since
	last   time.Time // that it sent a frame
	since  time.Time
	state  PeerState
	claim  *Claim // about the neighbor's ledger; nil: none was heard
	fault  string // the last one, until the neighbor is heard again
	faults int    // frames that were refused, on either side
}

type parcel struct {
	kind  FrameKind
	round uint64
	frame []byte
	once  chan error // not nil: it is sent once, and what came of it goes here
}

// parcel makes a frame of this node's.
func (n *Node) parcel(kind FrameKind, round uint64, payload []byte) parcel {
	return parcel{kind: kind, round: round, frame: AppendFrame(nil, &Frame{
		Kind:    kind,
		Run:     n.cfg.Run,
		Sender:  n.cfg.Self,
		Round:   round,
		Payload: payload,
	})}
}

// drop takes frames of a kind out of the queue.
func (l *link) drop(kind FrameKind) {
	l.queue = slices.DeleteFunc(l.queue, func(q parcel) bool { return q.kind == kind })
}

// push queues a frame unless it is queued already; rounds stay in order. Of more than two
// rounds the first is given up: a neighbor that is so far behind has been left out of
// that round.
func (l *link) push(p parcel) {
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

// turn changes the neighbor's state. Node.mu is held.
func (l *link) turn(n *Node, s PeerState) {
	if l.state == s || l.state == Done {
		return
	}
	l.state, l.since = s, time.Now()
	switch s {
	case Late:
		n.log.Warn("a peer is late", "peer", n.name(l.id), "round", n.check.Round)
	case Gone:
		n.log.Warn("a peer cannot be reached", "peer", n.name(l.id), "round", n.check.Round, "error", l.fault)
	default:
		n.log.Info("peer", "peer", n.name(l.id), "state", s.String())
	}
}

// complain logs a fault of the neighbor: the first, second, fourth and so on, so that
// none fills the log. Node.mu is held.
func (l *link) complain(n *Node, err error) {
	l.fault = err.Error()
	if l.faults++; l.faults&(l.faults-1) == 0 {
		n.log.Warn("a frame was refused", "peer", n.name(l.id), "error", err, "so far", l.faults)
	}
}

// run sends what is queued until ctx ends: one frame in flight, again and again until the
// neighbor takes it.
func (l *link) run(ctx context.Context, n *Node) {
	wait := n.cfg.Retry
	for {
		n.mu.Lock()
		var p parcel
		if len(l.queue) > 0 {
			p = l.queue[0]
		}
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
		if l.send(ctx, n, p) {
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

// send tries once and reports whether the neighbor has taken the frame.
func (l *link) send(ctx context.Context, n *Node, p parcel) bool {
	sending, cancel := context.WithTimeout(ctx, n.cfg.SendTimeout)
	err := n.cfg.Transport.Send(sending, l.id, p.frame)
	cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	var refused Refusal
	if p.once != nil {
		l.queue = slices.DeleteFunc(l.queue, func(q parcel) bool { return q.once == p.once })
		p.once <- err
	}
	l.failed++
	switch {
	case err == nil:
		l.failed = 0
		l.queue = slices.DeleteFunc(l.queue, func(q parcel) bool {
			return q.kind == p.kind && q.round == p.round
		})
		n.check.Counts.Bytes += uint64(len(p.frame))
		if p.kind == Messages {
			l.taken = max(l.taken, p.round+1)
		}
		// whom nobody waits for is late until it sends something itself
		if n.clock == nil || l.state != Late {
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

// greet answers a hello with the frames that the neighbor may lack, and notes a neighbor
// that has finished. Node.mu is held.
func (n *Node) greet(l *link, f *Frame) {
	l.absent, l.last = false, time.Now()
	l.round = max(l.round, f.Round)
	if f.Kind == Finished {
		l.finished = true
		if n.walks != nil {
			n.walks.leave(l)
		}
		l.turn(n, Done)
		n.signal()
	} else {
		n.enqueue(l, 0) // what it does not lack it drops
		n.mark(l)
	}
	l.wake()
}

// hears reports whether the neighbor takes in this node's messages of a round.
func (n *Node) hears(l *link, round uint64) bool {
	if n.turns != nil {
		return n.turns.asks(l.id, round)
	}
	return n.cfg.Graphs == nil || round < n.cfg.Rounds && n.graph(round).Weight(l.id, n.cfg.Self) != 0
}

// enqueue queues the kept frames of rounds from on, and the word that this node has
// finished. Node.mu is held.
func (n *Node) enqueue(l *link, from uint64) {
	if n.walks != nil {
		n.hand(l, true)
	} else if n.cfg.Pairs {
		n.invite(l)
		n.answered(l)
	} else if l.out {
		for i := range n.kept {
			if k := &n.kept[i]; k.messages != nil && k.round >= from && n.hears(l, k.round) {
				if n.clock != nil { // nobody asks for older ones
					l.queue = slices.DeleteFunc(l.queue, func(q parcel) bool {
						return q.kind == Messages && q.round < k.round
					})
				}
				l.push(parcel{kind: Messages, round: k.round, frame: k.frame(n, l.id)})
			}
		}
	}
	if n.check.Finished {
		l.push(n.parcel(Finished, n.check.Round, n.check.Claim))
	}
}
