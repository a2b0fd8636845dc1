package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/clock"
	"sotto/node/frame"
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

// pairing drives a node in meetings: its own, when its clock rings, and those that
// neighbors ask for.
type pairing struct {
	n      *Node
	bell   *clock.Poisson
	values int    // of each message that the algorithm sends; 0: none is known
	undo   []byte // the algorithm's state before the meeting in progress
	table  table
	// what was exchanged with each neighbor last; Node.mu guards what is in it
	partners map[agent.ID]*partner
	said     greetings
}

var _ pacer = (*pairing)(nil)

// partner is what a node keeps of its meetings with one neighbor.
type partner struct {
	met   uint64 // 1 + the neighbor's last meeting with this node that is complete
	reply []byte // this node's message in it
	// 1 + this node's last meeting with the neighbor that was given up, until its reply
	// comes
	missed uint64
}

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

// checkPairs refuses what has no meetings.
func (c *Config) checkPairs() error {
	switch {
	case c.Pairs && c.Interval == 0:
		return config.Bad("interval", c.Interval, "above 0 with wakes in pairs")
	case c.Pairs && c.Graph.Directed():
		return config.Bad("graph", c.Graph.Name(), "links in both directions, with wakes in pairs")
	}
	return nil
}

// leased reports whether another node has this one's consent.
func (t *table) leased() bool { return t.stepping || t.seat != nil || time.Now().Before(t.until) }

// lapsed reports whether a node had the last consent, made nothing of it, and is to leave
// the table to others for a while.
func (t *table) lapsed(with agent.ID, pause time.Duration) bool {
	return t.lease.with == with && !t.until.IsZero() && time.Since(t.until) < pause
}

func newPairing(n *Node) *pairing {
	p := &pairing{n: n, bell: clock.NewPoisson(n.cfg.Interval), partners: map[agent.ID]*partner{},
		said: greetings{n: n, heard: map[agent.ID]agent.Message{}}}
	for i := range n.links {
		p.partners[i] = &partner{}
	}
	return p
}

// start sends what the algorithm broadcasts at its start; all else is exchanged at wakes.
func (p *pairing) start() error {
	n, g := p.n, p.n.cfg.Graph
	n.cfg.Gate.Begin(0, g.In(n.cfg.Self))
	n.in = agent.Input{Kind: agent.Start, View: n.row(g)}
	var r RoundReport
	if err := n.stepUntilDone(&r); err != nil {
		return err
	}
	if err := p.said.introduce(n.out.Outbox); err != nil {
		return err
	}
	if err := p.keep(0, nil, nil, nil); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.order {
		p.said.queue(l)
	}
	return nil
}

// resume puts back what was replied last to each neighbor, which one that is back asks
// for again, and the meeting that a process before this one was in.
func (p *pairing) resume(c *checkpoint.Checkpoint) error {
	p.values = agent.MessageValues(c.Outbox)
	if len(c.Before) > 0 {
		p.said.own = c.Before
	}
	err := p.n.recall(c.Heard, func(m agent.Message, encoded []byte) bool {
		with := p.partners[m.To]
		if with != nil {
			with.reply, with.met = encoded, m.Round+1
		}
		return with != nil
	})
	if err != nil || len(c.Undo) == 0 {
		return err
	}
	to, _, err := agent.MessageHead(c.Outbox)
	if err != nil || p.partners[to] == nil {
		return fmt.Errorf("%w: a meeting without an offer", checkpoint.ErrState)
	}
	p.table.awaits, p.table.busy = &meeting{to, c.Sent}, true
	return nil
}

func (p *pairing) release(*link) {}
func (p *pairing) waits() bool   { return false }

func (p *pairing) counts() (unit string, total uint64, known bool) {
	return InWakes, p.n.cfg.Rounds, true
}

// next waits for the clock or for an offer, and completes one or the other.
func (p *pairing) next(ctx context.Context) error {
	n := p.n
	if len(n.check.Undo) > 0 { // a process before this one was in a meeting
		m := *p.table.awaits
		return p.conclude(ctx, m, &RoundReport{Round: m.number})
	}
	timer := time.NewTimer(p.bell.Wait())
	defer timer.Stop()
	for {
		if n.isLost() {
			return errLost
		}
		if came, err := p.attend(); came || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.events:
		case <-timer.C:
			p.bell.Rung()
			return p.ask(ctx)
		}
	}
}

// ask draws a neighbor and meets it if it consents.
func (p *pairing) ask(ctx context.Context) error {
	n := p.n
	m := meeting{with: n.cfg.Self, number: n.check.Round}
	row := n.cfg.Graph.In(n.cfg.Self)
	if len(row) == 0 {
		return p.part(m, true)
	}
	m.with = row[p.bell.Chance.Below(uint64(len(row)))].ID
	n.mu.Lock()
	p.table.busy = !p.table.leased()
	free := p.table.busy
	n.mu.Unlock()
	err := error(RefusedBusy) // this node itself
	if free {
		err = p.consent(ctx, m)
	}
	if err == nil {
		return p.offer(ctx, m)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.part(m, errors.Is(err, RefusedBusy))
}

// consent asks once, and waits for the answer until the deadline.
func (p *pairing) consent(ctx context.Context, m meeting) error {
	n := p.n
	l := n.links[m.with]
	n.mu.Lock()
	f := n.frame(frame.Ask, m.number, nil)
	f.once = make(chan error, 1)
	away := l.state == Gone && len(l.queue) > 0 // it is being tried already
	if !away {
		l.push(f)
	}
	n.mu.Unlock()
	if away {
		return ErrUnreachable
	}
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	select {
	case err := <-f.once:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.drop(frame.Ask)
	return ErrUnreachable
}

// part ends a wake without a meeting.
func (p *pairing) part(m meeting, busy bool) error {
	n := p.n
	report := RoundReport{Round: m.number, Woke: p.bell.Next}
	n.mu.Lock()
	p.table.busy = false
	if busy {
		n.check.Counts.Busy++
	} else {
		n.check.Counts.Missing++
		report.Missing = []agent.ID{m.with}
	}
	n.mu.Unlock()
	return p.met(m.number+1, &report, nil, nil)
}

// met keeps the state after a meeting, or a wake without one, and reports it. to and
// reply, if not nil, are whose meeting it was and this node's message in it.
func (p *pairing) met(round uint64, report *RoundReport, to *partner, reply []byte) error {
	if err := p.keep(round, nil, to, reply); err != nil {
		return fmt.Errorf("wake %d: %w", report.Round, err)
	}
	p.n.report(report)
	return nil
}

// keep stores the state after so many wakes, with this node's offer in the next one, if
// it has made one, and with the last replies.
func (p *pairing) keep(round uint64, offer []byte, to *partner, reply []byte) error {
	n := p.n
	n.mu.Lock()
	c := n.check
	n.mu.Unlock()
	c.Round, c.Finished, c.Barrier = round, round == n.cfg.Rounds || c.Done, false
	c.Before, c.Sent, c.Outbox, c.Heard = p.said.own, round, offer, p.replies(to, reply)
	finished, err := n.save(&c)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current(&c)
	if finished {
		for _, l := range n.order {
			l.finish(n)
		}
	}
	return nil
}

func (p *pairing) resend(l *link, _ bool) {
	p.said.queue(l)
	p.invite(l)
	p.answered(l)
	l.finish(p.n)
}

// invite queues this node's stored offer, if it is for the neighbor. Node.mu is held.
func (p *pairing) invite(l *link) {
	if p.table.awaits != nil && p.table.awaits.with == l.id {
		l.push(p.n.frame(frame.Offer, p.n.check.Sent, p.n.check.Outbox))
	}
}

// propose steps the algorithm into a meeting and returns its encoded message. The state
// before it is in p.undo.
func (p *pairing) propose(m meeting, report *RoundReport) ([]byte, error) {
	n := p.n
	p.undo = n.cfg.Algorithm.AppendState(p.undo[:0])
	n.in = agent.Input{Kind: agent.Wake, Round: n.check.Round, Peer: m.with, Inbox: p.said.inbox(),
		View: n.row(n.cfg.Graph)}
	n.cfg.Gate.Begin(n.check.Round, nil)
	if err := n.stepUntilDone(report); err != nil {
		return nil, err
	}
	if len(n.out.Outbox) != 1 || n.out.Outbox[0].To != m.with {
		return nil, fmt.Errorf("%d messages in a pairwise wake, which needs one, to agent %d",
			len(n.out.Outbox), m.with)
	}
	w := n.out.Outbox[0]
	if len(w.Body) > n.limits.values || !w.Body.Finite() {
		return nil, fmt.Errorf("%w: it sends %d values, allowed: at most %d, finite ones", ErrDiverged,
			len(w.Body), n.limits.values)
	}
	p.values = len(w.Body)
	w.From, w.Round = n.cfg.Self, m.number
	return agent.AppendMessage(nil, &w), nil
}

// exchange gives the algorithm the peer's message.
func (p *pairing) exchange(m meeting, inbox []agent.Message, report *RoundReport) error {
	n := p.n
	n.in = agent.Input{Kind: agent.Exchange, Round: n.check.Round, Peer: m.with, Inbox: inbox,
		View: n.row(n.cfg.Graph)}
	report.Heard = []Heard{{From: m.with, Round: m.number}}
	return n.stepUntilDone(report)
}

// offer steps, stores and sends this node's part of a meeting, and sees it through.
func (p *pairing) offer(ctx context.Context, m meeting) error {
	n := p.n
	report := RoundReport{Round: m.number, Woke: p.bell.Next}
	message, err := p.propose(m, &report)
	if err == nil {
		n.check.Undo = slices.Clone(p.undo)
		err = p.keep(m.number, message, nil, nil)
	}
	if err != nil {
		return fmt.Errorf("wake %d: %w", m.number, err)
	}
	n.mu.Lock()
	p.table.awaits, p.table.reply = &m, nil
	p.invite(n.links[m.with])
	n.mu.Unlock()
	return p.conclude(ctx, m, &report)
}

// conclude waits for the reply to a stored offer, until the deadline.
func (p *pairing) conclude(ctx context.Context, m meeting, report *RoundReport) error {
	n := p.n
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	var reply []agent.Message
	for over := false; reply == nil && !over; {
		n.mu.Lock()
		reply = p.table.reply
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
		if err := p.exchange(m, reply, report); err != nil {
			return fmt.Errorf("wake %d: %w", m.number, err)
		}
	} else if err := n.cfg.Algorithm.LoadState(n.check.Undo); err != nil {
		return fmt.Errorf("wake %d: %w", m.number, err)
	}
	n.check.Undo = nil
	n.mu.Lock()
	l := n.links[m.with]
	l.drop(frame.Offer)
	p.table.awaits, p.table.reply, p.table.busy = nil, nil, false
	if reply == nil {
		p.partners[m.with].missed = m.number + 1
		n.check.Counts.Missing++
		report.Missing = []agent.ID{m.with}
	}
	n.mu.Unlock()
	return p.met(m.number+1, report, nil, nil)
}
