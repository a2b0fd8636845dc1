package node

import (
	"fmt"
	"time"

	"sotto/agent"
	"sotto/node/frame"
)

// attend completes a meeting that a neighbor has offered; false: there is none.
func (p *pairing) attend() (came bool, err error) {
	n := p.n
	n.mu.Lock()
	m, seat := p.table.lease, p.table.seat
	p.table.seat, p.table.stepping = nil, seat != nil
	n.mu.Unlock()
	if seat == nil {
		return false, nil
	}
	report := RoundReport{Round: n.check.Round, Called: true}
	l := n.links[m.with]
	if p.values > 0 && len(seat[0].Body) != p.values { // the algorithm cannot take it
		p.decline(l, m, seat)
		return true, nil
	}
	reply, err := p.propose(m, &report)
	// the first meeting of this process: the length is known now
	if err == nil && len(seat[0].Body) != p.values {
		p.decline(l, m, seat)
		return true, n.cfg.Algorithm.LoadState(p.undo)
	}
	if err == nil {
		err = p.exchange(m, seat, &report)
	}
	if err != nil {
		return true, fmt.Errorf("meeting %d of agent %d: %w", m.number, m.with, err)
	}
	// handlers send the partner's reply, which has to be stored first
	with := p.partners[m.with]
	if err := p.met(n.check.Round, &report, with, reply); err != nil {
		return true, err
	}
	n.mu.Lock()
	with.reply, with.met = reply, m.number+1
	p.table.stepping, p.table.until = false, time.Time{}
	p.answered(l)
	n.mu.Unlock()
	return true, nil
}

// decline ends a meeting whose offer is no message of the algorithm's, and names the
// sender. The number is not used again.
func (p *pairing) decline(l *link, m meeting, seat []agent.Message) {
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	l.complain(n, fmt.Errorf("%w: an offer of %d values, allowed: %d", frame.ErrMalformed, len(seat[0].Body),
		p.values))
	with := p.partners[l.id]
	with.met, with.reply = m.number+1, nil
	p.table.stepping, p.table.until = false, time.Time{}
}

// take takes in a frame of a meeting.
func (p *pairing) take(l *link, f *frame.Frame) error {
	n := p.n
	var msgs []agent.Message
	switch f.Kind {
	default:
		return otherPace(f)
	case frame.Messages:
		return p.said.take(l, f)
	case frame.Ask:
	case frame.Offer, frame.Reply:
		var err error
		if msgs, err = frame.DecodeMessages(nil, f, n.cfg.Self, n.limits.values); err != nil {
			return fmt.Errorf("%w: %w", RefusedFrame, err)
		}
		if len(msgs) != 1 {
			return fmt.Errorf("%w: %w: %d messages in a meeting, allowed: 1", RefusedFrame,
				frame.ErrMalformed, len(msgs))
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.shows(n, f.Round)
	t, m, with := &p.table, meeting{l.id, f.Round}, p.partners[l.id]
	switch {
	case f.Kind == frame.Reply:
		return p.takeReply(m, msgs)
	case f.Round >= n.cfg.Rounds:
		return fmt.Errorf("%w: meeting %d", RefusedAhead, f.Round)
	case f.Round+1 < with.met:
		n.check.Counts.Stale++
	case f.Round+1 == with.met:
		n.check.Counts.Replayed++
		if f.Kind == frame.Offer {
			p.answered(l)
		}
	case t.busy || t.leased() && t.lease != m:
		n.check.Counts.Busy++
		return RefusedBusy
	case t.stepping || t.seat != nil:
		n.check.Counts.Replayed++
	case f.Kind == frame.Ask && t.leased(): // it has the consent, which lasts no longer for that
	case f.Kind == frame.Ask && t.lapsed(l.id, n.cfg.Deadline):
		n.check.Counts.Busy++
		return RefusedBusy
	default:
		t.lease, t.until, t.seat = m, time.Now().Add(n.cfg.Deadline), msgs
		n.signal()
	}
	return nil
}

// takeReply takes in the reply to an offer of this node's. Node.mu is held.
func (p *pairing) takeReply(m meeting, msgs []agent.Message) error {
	n, t, with := p.n, &p.table, p.partners[m.with]
	if t.awaits != nil && *t.awaits == m && t.reply == nil {
		if want := agent.MessageValues(n.check.Outbox); len(msgs[0].Body) != want { // as long as the offer
			return fmt.Errorf("%w: %w: a reply of %d values, allowed: %d", RefusedFrame, frame.ErrMalformed,
				len(msgs[0].Body), want)
		}
		t.reply = msgs
		n.signal()
	} else if with.missed == m.number+1 {
		with.missed = 0
		n.check.Counts.OneSided++
	}
	return nil
}

// answered queues the reply to the neighbor's last offer. Node.mu is held.
func (p *pairing) answered(l *link) {
	if with := p.partners[l.id]; with.reply != nil {
		l.drop(frame.Reply)
		l.push(p.n.frame(frame.Reply, with.met-1, with.reply))
	}
}

// replies encodes the last reply to every neighbor, for the checkpoint; to one of them it
// is the newest.
func (p *pairing) replies(to *partner, newest []byte) []byte {
	b := []byte{}
	for _, l := range p.n.order {
		if with := p.partners[l.id]; with == to {
			b = append(b, newest...)
		} else {
			b = append(b, with.reply...)
		}
	}
	return b
}
