package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sotto/agent"
)

// A pairwise wake between nodes. Whose clock rings draws a neighbor and asks it; a
// neighbor that is in another meeting, or has one coming, refuses. With its consent the
// asking node steps, stores its message with its state, and sends it as an offer. The
// other steps, exchanges and stores all that at once, and replies; the reply completes
// the asking node's exchange.
//
// Who is asked has done its part when it replies, so that it waits for nobody. Who asks
// waits for the reply until the deadline, and then goes back to its state before the
// meeting: its charges are spent, its answers are not used. When a reply comes after
// that, the exchange has happened on one side only, which is counted. After a crash both
// sides send their stored bytes again.

// meeting is one pairwise wake: the number is the asking node's own.
type meeting struct {
	with   agent.ID
	number uint64
}

// table is what a node keeps of meetings. Node.mu guards it.
type table struct {
	lease    meeting // that this node has consented to
	until    time.Time
	seat     []agent.Message // the offer; nil until it comes
	busy     bool            // this node asks or has asked, until its own meeting is over
	awaits   *meeting        // the reply that is waited for
	reply    []agent.Message
	stepping bool // the offer is being answered
}

// leased reports whether another node has this one's consent.
func (t *table) leased() bool { return t.stepping || t.seat != nil || time.Now().Before(t.until) }

// meet waits for the clock or for an offer, and completes one or the other.
func (n *Node) meet(ctx context.Context) error {
	if len(n.check.Undo) > 0 { // a process before this one was in a meeting
		return n.conclude(ctx, n.pending, &RoundReport{Round: n.pending.number})
	}
	timer := time.NewTimer(n.clock.wait())
	defer timer.Stop()
	for {
		if came, err := n.answerOffer(); came || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.events:
		case <-timer.C:
			n.clock.rung()
			return n.ask(ctx)
		}
	}
}

// ask draws a neighbor and meets it if it consents.
func (n *Node) ask(ctx context.Context) error {
	m := meeting{with: n.cfg.Self, number: n.check.Round}
	row := n.cfg.Graph.In(n.cfg.Self)
	if len(row) == 0 {
		return n.part(m, true)
	}
	m.with = row[n.clock.chance.Below(uint64(len(row)))].ID
	n.mu.Lock()
	n.table.busy = !n.table.leased()
	free := n.table.busy
	n.mu.Unlock()
	err := error(RefusedBusy) // this node itself
	if free {
		err = n.consent(ctx, m)
	}
	if err == nil {
		return n.offer(ctx, m)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return n.part(m, errors.Is(err, RefusedBusy))
}

// consent asks once, and waits for the answer until the deadline.
func (n *Node) consent(ctx context.Context, m meeting) error {
	l, p := n.links[m.with], n.parcel(Ask, m.number, nil)
	p.once = make(chan error, 1)
	n.mu.Lock()
	away := l.state == Gone && len(l.queue) > 0 // it is being tried already
	if !away {
		l.push(p)
	}
	n.mu.Unlock()
	if away {
		return ErrUnreachable
	}
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	select {
	case err := <-p.once:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.drop(Ask)
	return ErrUnreachable
}

// part ends a wake without a meeting.
func (n *Node) part(m meeting, busy bool) error {
	report := RoundReport{Round: m.number, Woke: n.clock.next}
	n.mu.Lock()
	n.table.busy = false
	if busy {
		n.check.Counts.Busy++
	} else {
		n.check.Counts.Missing++
		report.Missing = []agent.ID{m.with}
	}
	n.mu.Unlock()
	return n.met(m.number+1, &report)
}

// met keeps the state after a meeting, or a wake without one, and reports it.
func (n *Node) met(round uint64, report *RoundReport) error {
	if err := n.keep(round, sent{round: round}); err != nil {
		return fmt.Errorf("wake %d: %w", report.Round, err)
	}
	if n.cfg.OnRound != nil {
		n.cfg.OnRound(*report)
	}
	return nil
}

// propose steps the algorithm into a meeting and returns its encoded message. The state
// before it is in n.undo.
func (n *Node) propose(m meeting, report *RoundReport) ([]byte, error) {
	n.undo = n.cfg.Algorithm.AppendState(n.undo[:0])
	g, i := n.cfg.Graph, n.cfg.Self
	n.in = agent.Input{Kind: agent.Wake, Round: n.check.Round, Peer: m.with,
		View: &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)}}
	n.cfg.Gate.Begin(n.check.Round, nil)
	if err := n.settle(report); err != nil {
		return nil, err
	}
	if len(n.out.Outbox) != 1 || n.out.Outbox[0].To != m.with {
		return nil, fmt.Errorf("%d messages in a pairwise wake, which needs one, to agent %d",
			len(n.out.Outbox), m.with)
	}
	w := n.out.Outbox[0]
	if len(w.Body) > n.maxValues || !w.Body.Finite() {
		return nil, fmt.Errorf("the algorithm sends %d values, allowed: at most %d, finite ones", len(w.Body),
			n.maxValues)
	}
	n.values = len(w.Body)
	w.From, w.Round = i, m.number
	return agent.AppendMessage(nil, &w), nil
}

// exchange gives the algorithm the peer's message.
func (n *Node) exchange(m meeting, inbox []agent.Message, report *RoundReport) error {
	g, i := n.cfg.Graph, n.cfg.Self
	n.in = agent.Input{Kind: agent.Exchange, Round: n.check.Round, Peer: m.with, Inbox: inbox,
		View: &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)}}
	report.Heard = []Heard{{From: m.with, Round: m.number}}
	return n.settle(report)
}

// offer steps, stores and sends this node's part of a meeting, and sees it through.
func (n *Node) offer(ctx context.Context, m meeting) error {
	report := RoundReport{Round: m.number, Woke: n.clock.next}
	message, err := n.propose(m, &report)
	if err == nil {
		n.check.Undo = slices.Clone(n.undo)
		err = n.keep(m.number, sent{round: m.number, messages: message})
	}
	if err != nil {
		return fmt.Errorf("wake %d: %w", m.number, err)
	}
	n.mu.Lock()
	n.pending, n.table.reply = m, nil
	n.table.awaits = &n.pending
	n.invite(n.links[m.with])
	n.mu.Unlock()
	return n.conclude(ctx, m, &report)
}

// conclude waits for the reply to a stored offer, until the deadline.
func (n *Node) conclude(ctx context.Context, m meeting, report *RoundReport) error {
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	var reply []agent.Message
	for over := false; reply == nil && !over; {
		n.mu.Lock()
		reply = n.table.reply
		n.mu.Unlock()
		if reply != nil {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.events:
		case <-timer.C:
			over = true
		}
	}
	if reply != nil {
		if err := n.exchange(m, reply, report); err != nil {
			return fmt.Errorf("wake %d: %w", m.number, err)
		}
	} else if err := n.cfg.Algorithm.LoadState(n.check.Undo); err != nil {
		return fmt.Errorf("wake %d: %w", m.number, err)
	}
	n.check.Undo = nil
	n.mu.Lock()
	l := n.links[m.with]
	l.drop(Offer)
	n.table.awaits, n.table.reply, n.table.busy = nil, nil, false
	if reply == nil {
		l.missed = m.number + 1
		n.check.Counts.Missing++
		report.Missing = []agent.ID{m.with}
	}
	n.mu.Unlock()
	return n.met(m.number+1, report)
}

// answerOffer completes a meeting that a neighbor has offered; false: there is none.
func (n *Node) answerOffer() (came bool, err error) {
	n.mu.Lock()
	m, seat := n.table.lease, n.table.seat
	n.table.seat, n.table.stepping = nil, seat != nil
	n.mu.Unlock()
	if seat == nil {
		return false, nil
	}
	report := RoundReport{Round: n.check.Round, Called: true}
	l := n.links[m.with]
	if n.values > 0 && len(seat[0].Body) != n.values { // the algorithm cannot take it
		n.decline(l, m, seat)
		return true, nil
	}
	reply, err := n.propose(m, &report)
	// the first meeting of this process: the length is known now
	if err == nil && len(seat[0].Body) != n.values {
		n.decline(l, m, seat)
		return true, n.cfg.Algorithm.LoadState(n.undo)
	}
	if err == nil {
		err = n.exchange(m, seat, &report)
	}
	if err != nil {
		return true, fmt.Errorf("meeting %d of agent %d: %w", m.number, m.with, err)
	}
	n.replying, n.newest = l, reply // handlers send l.reply, which has to be stored first
	err = n.met(n.check.Round, &report)
	n.replying = nil
	if err != nil {
		return true, err
	}
	n.mu.Lock()
	l.reply, l.met = reply, m.number+1
	n.table.stepping, n.table.until = false, time.Time{}
	n.answered(l)
	n.mu.Unlock()
	return true, nil
}

// decline ends a meeting whose offer is no message of the algorithm's, and names the
// sender. The number is not used again.
func (n *Node) decline(l *link, m meeting, seat []agent.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.complain(n, fmt.Errorf("%w: an offer of %d values, allowed: %d", ErrFrame, len(seat[0].Body), n.values))
	l.met, l.reply = m.number+1, nil
	n.table.stepping, n.table.until = false, time.Time{}
}

// convene takes a frame of a meeting.
func (n *Node) convene(l *link, f *Frame) error {
	var msgs []agent.Message
	if f.Kind != Ask {
		var err error
		if msgs, err = decodeMessages(nil, f, n.cfg.Self, n.maxValues); err != nil {
			return fmt.Errorf("%w: %w", RefusedFrame, err)
		}
		if len(msgs) != 1 {
			return fmt.Errorf("%w: %w: %d messages in a meeting, allowed: 1", RefusedFrame, ErrFrame,
				len(msgs))
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.heard(n)
	l.last, l.round = time.Now(), max(l.round, f.Round)
	t, m := &n.table, meeting{l.id, f.Round}
	switch {
	case f.Kind == Reply:
		if t.awaits != nil && *t.awaits == m && t.reply == nil {
			if want := bodyLength(n.check.Outbox); len(msgs[0].Body) != want { // as long as the offer
				return fmt.Errorf("%w: %w: a reply of %d values, allowed: %d", RefusedFrame, ErrFrame,
					len(msgs[0].Body), want)
			}
			t.reply = msgs
			n.signal()
		} else if l.missed == f.Round+1 {
			l.missed = 0
			n.check.Counts.OneSided++
		}
	case f.Round >= n.cfg.Rounds:
		return fmt.Errorf("%w: meeting %d", RefusedAhead, f.Round)
	case f.Round+1 < l.met:
		n.check.Counts.Stale++
	case f.Round+1 == l.met:
		n.check.Counts.Replayed++
		if f.Kind == Offer {
			n.answered(l)
		}
	case t.busy || t.leased() && t.lease != m:
		return RefusedBusy
	case t.stepping || t.seat != nil:
		n.check.Counts.Replayed++
	default:
		t.lease, t.until, t.seat = m, time.Now().Add(n.cfg.Deadline), msgs
		n.signal()
	}
	return nil
}

// answered queues the reply to the neighbor's last offer. Node.mu is held.
func (n *Node) answered(l *link) {
	if l.reply != nil {
		l.drop(Reply)
		l.push(n.parcel(Reply, l.met-1, l.reply))
	}
}

// invite queues this node's stored offer, if it is for the neighbor. Node.mu is held.
func (n *Node) invite(l *link) {
	if n.table.awaits != nil && n.table.awaits.with == l.id {
		l.push(n.parcel(Offer, n.check.Sent, n.check.Outbox))
	}
}

// replies encodes the last reply to every neighbor, for the checkpoint.
func (n *Node) replies() []byte {
	b := []byte{}
	for _, l := range n.order {
		if l == n.replying {
			b = append(b, n.newest...)
		} else {
			b = append(b, l.reply...)
		}
	}
	return b
}
