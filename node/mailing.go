package node

import (
	"context"
	"fmt"
	"time"

	"sotto/agent"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/node/mark"
	"sotto/topology"
)

// mailing is what those paces have in common in which neighbors send each other frames of
// messages: rounds, recorded wakes and wakes by a clock.
type mailing struct {
	n     *Node
	kept  [checkpoint.Kept]sent // of those sent last, in order; Node.mu guards it
	inbox []agent.Message       // of the next step, sorted by sender
	spare []byte                // a frame that is kept no longer; it may still be in a queue
}

// window says which frames of messages a pace has a use for.
type window interface {
	// expected is the round of the frame that a step takes in from a neighbor.
	expected(l *link, step uint64) uint64
	// judge says what becomes of a frame of a round, while another is present.
	judge(m *mailbox.Box, round, present uint64) mailbox.Verdict
}

// begin steps the algorithm for the first time.
func (m *mailing) begin(g *topology.Graph) error {
	m.n.in = agent.Input{Kind: agent.Start, View: m.n.row(g)}
	var r RoundReport
	if err := m.n.stepUntilDone(&r); err != nil {
		return err
	}
	if out := m.n.out.Outbox; len(out) > 0 {
		m.n.limits.length = len(out[0].Body)
	}
	return nil
}

// resume takes over what was sent last.
func (m *mailing) resume(c *checkpoint.Checkpoint) error {
	if c.Round > 0 {
		m.kept[0] = sent{round: c.Round - 1, messages: c.Before}
	}
	m.kept[1] = sent{round: c.Sent, messages: c.Outbox}
	m.claims(c)
	m.n.broadcasts.Store(broadcast(c.Outbox))
	m.n.limits.measure(c)
	return nil
}

// measure takes over the length of the messages that are kept.
func (l *limits) measure(c *checkpoint.Checkpoint) {
	if k := max(agent.MessageValues(c.Outbox), agent.MessageValues(c.Before)); k > 0 {
		l.length = k
	}
}

// claims takes over those of what was sent last, or makes them where the checkpoint is of
// a node that signed nothing.
func (m *mailing) claims(c *checkpoint.Checkpoint) {
	n := m.n
	if !n.cfg.marks() {
		return
	}
	if len(c.Marks) > 0 {
		for i := range m.kept {
			m.kept[i].claim = c.Claims[i]
		}
		if m.kept[0].claim.Sum == [32]byte{} {
			m.kept[0].messages = nil
		}
		if m.kept[1].claim.Sent != c.Sent { // that of what was sent before
			m.kept[1].messages = nil
		}
		return
	}
	for i := range m.kept {
		if k := &m.kept[i]; len(k.messages) > 0 {
			k.claim = n.claim.Next(k.round, k.messages)
			n.claim = k.claim
		}
	}
}

func (m *mailing) release(*link)         {}
func (m *mailing) attend() (bool, error) { return false, nil }
func (m *mailing) waits() bool           { return true }

// last is what was sent last.
func (m *mailing) last() *sent { return &m.kept[checkpoint.Kept-1] }

// collect waits until ready, and names those who lag behind when the deadline has passed.
// ready is called with the number of deadlines that have passed, and lags for every
// neighbor; Node.mu is held.
func (m *mailing) collect(ctx context.Context, ready func(deadlines int) bool,
	lags func(l *link) bool) error {
	n := m.n
	timer := time.NewTimer(n.cfg.Deadline)
	defer timer.Stop()
	for deadlines := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n.mu.Lock()
		outrun, lost, done := n.outrun(), n.lost(), ready(deadlines)
		n.mu.Unlock()
		switch {
		case outrun:
			return errOnward
		case lost:
			return errLost
		case done:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.events:
		case <-timer.C:
			if deadlines++; deadlines == 1 {
				m.late(lags)
				timer.Reset(n.cfg.Deadline)
			}
		}
	}
}

// late names the neighbors who lag behind at the deadline.
func (m *mailing) late(lags func(l *link) bool) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	for _, l := range m.n.order {
		if lags(l) && l.state != Gone {
			l.turn(m.n, Late)
		}
	}
}

// wake steps the algorithm with what is in the inbox, and hands what it broadcasts to
// keep. Where it broadcasts nothing its last message stands, as standing gives it.
func (m *mailing) wake(report *RoundReport, standing func(round uint64) sent,
	keep func(round uint64, out sent) error) error {
	n := m.n
	g, k := n.cfg.Graph, n.check.Round
	n.in = agent.Input{Kind: agent.Wake, Round: k, Peer: agent.Broadcast, Inbox: m.inbox, View: n.row(g)}
	n.cfg.Gate.Begin(k, g.In(n.cfg.Self))
	if err := n.stepUntilDone(report); err != nil {
		return fmt.Errorf("wake %d: %w", k, err)
	}
	n.check.Done = n.out.Done // of this goroutine alone
	var (
		out sent
		err error
	)
	if len(n.out.Outbox) > 0 {
		out, err = m.pack(g, n.out.Outbox, k+1)
	} else {
		out = standing(k + 1)
	}
	if err == nil {
		err = keep(k+1, out)
	}
	if err != nil {
		return fmt.Errorf("wake %d: %w", k, err)
	}
	n.report(report)
	return nil
}

// store makes c the checkpoint, with what neighbors may still lack: before, and out which
// they are sent now. Then each calls f, with Node.mu held. Nothing leaves before it is
// stored, and the charges behind it were durable before that.
func (m *mailing) store(c *checkpoint.Checkpoint, before, out sent, each func(l *link)) error {
	n := m.n
	c.Before, c.Sent, c.Outbox = before.messages, out.round, out.messages
	if n.cfg.marks() && out.messages != nil && out.claim == (mark.Claim{}) {
		out.claim = n.claim.Next(out.round, out.messages)
	}
	c.Claims = [checkpoint.Kept]mark.Claim{before.claim, out.claim}
	if out.messages == nil {
		c.Claims[checkpoint.Kept-1] = n.claim
	}
	if _, err := n.save(c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claim = c.Claims[checkpoint.Kept-1]
	n.current(c)
	out.vouch(n)
	m.retire(&before, &out)
	m.kept = [checkpoint.Kept]sent{before, out}
	for _, l := range n.order {
		each(l)
	}
	n.exchange(c.Round)
	return nil
}

// broadcast reports whether encoded messages are all for everybody.
func broadcast(messages []byte) bool {
	for len(messages) > 0 {
		to, size, err := agent.MessageHead(messages)
		if err != nil || to != agent.Broadcast {
			return false
		}
		messages = messages[size:]
	}
	return true
}

// queue queues the kept frames of rounds from on that a neighbor takes in. Node.mu is
// held.
func (m *mailing) queue(l *link, from uint64, hears func(l *link, round uint64) bool) {
	if !l.out {
		return
	}
	for i := range m.kept {
		if k := &m.kept[i]; k.messages != nil && k.round >= from && hears(l, k.round) {
			l.push(queued{kind: frame.Messages, round: k.round, frame: k.frame(m.n, l.id)})
		}
	}
}

// read takes in a frame of messages, if it is within the window.
func (m *mailing) read(l *link, f *frame.Frame, w window) error {
	n := m.n
	if v := m.sort(l, f, w, false); v != mailbox.Take {
		return verdictError(v, f)
	}
	// the first message, and fits takes no second one
	if len(f.Payload) > 0 && agent.IsBF16(f.Payload) != n.cfg.BF16 {
		return fmt.Errorf("%w: %w: values of another format than the run's", RefusedFrame, frame.ErrMalformed)
	}
	msgs, err := frame.DecodeMessages(l.mail.Spare, f, n.cfg.Self, n.limits.values)
	l.mail.Spare = msgs
	if err == nil {
		err = m.fits(msgs)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	return verdictError(m.sort(l, f, w, true), f) // the round may have passed meanwhile
}

// fits refuses messages that are not like this node's own: every member runs the same
// algorithm, which sends a neighbor at most one message a round, always of one length. A
// vector of another length cannot be mixed.
func (m *mailing) fits(msgs []agent.Message) error {
	for i := range msgs {
		if i > 0 || len(msgs[i].Body) != m.n.limits.length {
			return fmt.Errorf("%w: message %d has %d values, allowed: one message, of %d",
				frame.ErrMalformed, i, len(msgs[i].Body), m.n.limits.length)
		}
		// all mass there is, and rounding
		if w, most := msgs[i].Mass, float64(m.n.cfg.Graph.Agents()); m.n.cfg.Mass != (w > 0) || w < 0 ||
			w > most*(1+1e-9) {
			return fmt.Errorf("%w: mass %v, allowed: above 0 and at most %v with push-sum, 0 without",
				frame.ErrMalformed, w, most)
		}
	}
	return nil
}

// sort finds what becomes of f and, if put, takes the messages that were read.
func (m *mailing) sort(l *link, f *frame.Frame, w window, put bool) mailbox.Verdict {
	n := m.n
	n.mu.Lock()
	defer n.mu.Unlock()
	l.shows(n, f.Round)
	present := w.expected(l, n.check.Round)
	v := w.judge(l.mail, f.Round, present)
	switch v {
	case mailbox.Stale:
		n.check.Counts.Stale++
	case mailbox.Replayed:
		n.check.Counts.Replayed++
	case mailbox.Take:
		if put {
			l.mail.Put(f.Round, present)
			n.signal()
		}
	}
	return v
}

func verdictError(v mailbox.Verdict, f *frame.Frame) error {
	if v == mailbox.Ahead {
		return fmt.Errorf("%w: round %d", RefusedAhead, f.Round)
	}
	return nil
}
