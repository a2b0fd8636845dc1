package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/clock"
	"sotto/node/frame"
	"sotto/node/mailbox"
)

// ticker drives a node by its own clock: it steps when the clock rings, with the newest
// message of every neighbor that was heard so far, and waits for nobody.
type ticker struct {
	mailing
	bell *clock.Poisson
}

var _ pacer = (*ticker)(nil)

func newTicker(n *Node) *ticker { return &ticker{mailing{n: n}, clock.NewPoisson(n.cfg.Interval)} }

func (p *ticker) start() error {
	n, g := p.n, p.n.cfg.Graph
	n.cfg.Gate.Begin(0, g.In(n.cfg.Self))
	if err := p.begin(g); err != nil {
		return err
	}
	n.check.Done = n.out.Done
	out, err := p.pack(g, n.out.Outbox, 0)
	if err != nil {
		return err
	}
	return p.keep(0, out)
}

func (p *ticker) waits() bool { return false }

func (p *ticker) counts() (unit string, total uint64, known bool) {
	return InWakes, p.n.cfg.Rounds, true
}

// next waits for the clock and completes one wake with whatever has arrived.
func (p *ticker) next(ctx context.Context) error {
	timer := time.NewTimer(p.bell.Wait())
	defer timer.Stop()
	for rung := false; !rung; {
		if p.n.isLost() {
			return errLost
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.n.events:
		case <-timer.C:
			rung = true
		}
	}
	p.bell.Rung()
	report := RoundReport{Round: p.n.check.Round, Woke: p.bell.Next}
	p.hear(&report)
	return p.wake(&report, func(uint64) sent { return *p.last() }, p.keep)
}

// hear fills the inbox with the newest message of every neighbor that was heard so far,
// and names those that have been silent for long. A neighbor that is missing holds nobody
// up: its last message stands.
func (p *ticker) hear(r *RoundReport) {
	n := p.n
	silent := max(n.cfg.Deadline, 10*n.cfg.Interval)
	p.inbox = p.inbox[:0]
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.order {
		if l.mail == nil {
			continue
		}
		if l.state != Gone && time.Since(l.last) > silent {
			l.turn(n, Late)
		}
		l.mail.Newest()
		if s := &l.mail.Now; s.Full && len(s.Messages) > 0 {
			p.inbox = append(p.inbox, s.Messages...)
			r.Heard = append(r.Heard, Heard{From: l.id, Round: s.Round})
		}
	}
}

// keep stores the state after so many wakes with the last broadcast, and with what the
// wake has taken in: who sent it may be gone when this node is back.
func (p *ticker) keep(round uint64, out sent) error {
	n := p.n
	n.mu.Lock()
	c := n.check
	n.mu.Unlock()
	c.Round, c.Finished, c.Barrier = round, round == n.cfg.Rounds || c.Done, false
	c.Heard = []byte{}
	for i := range p.inbox {
		c.Heard = agent.AppendMessage(c.Heard, &p.inbox[i])
	}
	return p.store(&c, sent{round: round - 1}, out, func(l *link) {
		p.queue(l, round)
		l.finish(n)
	})
}

// resume puts stored messages back where they were heard.
func (p *ticker) resume(c *checkpoint.Checkpoint) error {
	if err := p.mailing.resume(c); err != nil {
		return err
	}
	return p.n.recall(c.Heard, func(m agent.Message, _ []byte) bool {
		l := p.n.links[m.From]
		if l == nil || l.mail == nil {
			return false
		}
		l.mail.Now = mailbox.Slot{Full: true, Round: m.Round, Messages: []agent.Message{m}}
		return true
	})
}

// queue queues the last broadcast, unless it was made before a round, in place of older
// ones, which nobody asks for. Node.mu is held.
func (p *ticker) queue(l *link, from uint64) {
	if k := p.last(); l.out && k.messages != nil && k.round >= from {
		l.queue = slices.DeleteFunc(l.queue, func(q queued) bool {
			return q.kind == frame.Messages && q.round < k.round
		})
		l.push(queued{kind: frame.Messages, round: k.round, frame: k.frame(p.n, l.id)})
	}
}

func (p *ticker) resend(l *link, _ bool) {
	p.queue(l, 0)
	l.finish(p.n)
}

func (p *ticker) take(l *link, f *frame.Frame) error {
	if f.Kind != frame.Messages {
		return otherPace(f)
	}
	return p.read(l, f, p)
}

// The message that was taken in last stays the present one until the next wake.
func (p *ticker) expected(l *link, _ uint64) uint64 { return l.mail.Now.Round }

func (p *ticker) judge(m *mailbox.Box, round, present uint64) mailbox.Verdict {
	return m.Judge(round, present, false)
}

// maxInterval bounds the mean time between two wakes.
const maxInterval = 24 * time.Hour

// checkClock refuses intervals beside another pace, and what only rounds have.
func (c *Config) checkClock() error {
	switch {
	case c.Interval < 0 || c.Interval > maxInterval:
		return config.Bad("interval", c.Interval, fmt.Sprintf("0 to %v", maxInterval))
	case c.Interval > 0 && c.Missing != Wait:
		return config.Bad("missing", c.Missing,
			"wait, with clocks: a node that wakes by its own waits for nobody")
	case c.Interval > 0 && c.Wakes != nil:
		return config.Bad("interval", c.Interval, "0 with recorded wakes")
	case c.BF16 && c.byWakes():
		return config.Bad("bf16", c.BF16, "false, where agents wake by a clock or a list")
	}
	return nil
}
