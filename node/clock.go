package node

import (
	"context"
	"math"
	"time"

	"sotto/agent"
	"sotto/rng"
)

// maxInterval bounds the mean time between two wakes.
const maxInterval = 24 * time.Hour

// clock is a Poisson clock of a public rate: the times between its rings are independent
// and exponentially distributed. They come from the operating system's randomness, so
// that nobody foresees them. A run is not drawn again from a seed: it is replayed from
// what its nodes record.
type clock struct {
	mean   time.Duration
	chance *rng.Stream
	next   time.Time // ring
	drawn  bool      // it has not come yet
}

func newClock(mean time.Duration) *clock {
	key := rng.NewKey()
	return &clock{mean: mean, chance: rng.NewStream(&key, rng.Choice), next: time.Now()}
}

// wait returns how long it is until the next ring, which it draws after the one before
// has rung. A ring that falls into a step is due at once; the clock goes on from there,
// so that a node that is slower than its clock has no backlog.
func (c *clock) wait() time.Duration {
	now := time.Now()
	if c.drawn {
		return max(0, c.next.Sub(now))
	}
	c.drawn = true
	c.next = c.next.Add(time.Duration(-math.Log1p(-c.chance.Float64()) * float64(c.mean)))
	if c.next.Before(now) {
		c.next = now
	}
	return c.next.Sub(now)
}

// rung says that the next ring has come.
func (c *clock) rung() { c.drawn = false }

// ring waits for the clock and completes one wake with whatever has arrived.
func (n *Node) ring(ctx context.Context) error {
	timer := time.NewTimer(n.clock.wait())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	n.clock.rung()
	report := RoundReport{Round: n.check.Round, Woke: n.clock.next}
	n.hear(&report)
	return n.wake(&report)
}

// hear fills n.inbox with the newest message of every neighbor that was heard so far,
// sorted by sender, and names those that have been silent for long. A neighbor that is
// missing holds nobody up: its last message stands.
func (n *Node) hear(r *RoundReport) {
	silent := max(n.cfg.Deadline, 10*n.cfg.Interval)
	n.inbox = n.inbox[:0]
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.order {
		if l.mail == nil {
			continue
		}
		if l.state != Gone && time.Since(l.last) > silent {
			l.turn(n, Late)
		}
		l.mail.newest()
		if s := &l.mail.now; s.full && len(s.msgs) > 0 {
			n.inbox = append(n.inbox, s.msgs...)
			r.Heard = append(r.Heard, Heard{From: l.id, Round: s.round})
		}
	}
}

// heard encodes what the last wake has taken in, for the checkpoint: who sent it may be
// gone when this node is back. In pairs it is what this node has replied, which a
// neighbor that is back asks for again.
func (n *Node) heard() []byte {
	if n.cfg.Pairs {
		return n.replies()
	}
	b := []byte{}
	for i := range n.inbox {
		b = agent.AppendMessage(b, &n.inbox[i])
	}
	return b
}

// recall puts stored messages back where they were heard.
func (n *Node) recall(b []byte) error {
	for len(b) > 0 {
		var m agent.Message
		size, err := agent.DecodeMessage(b, n.maxValues, &m)
		if err != nil {
			return err
		}
		from := m.From
		if n.cfg.Pairs {
			from = m.To
		}
		l := n.links[from]
		switch {
		case l == nil || l.mail == nil:
			return RefusedSender
		case n.cfg.Pairs:
			l.reply, l.met = b[:size:size], m.Round+1
		default:
			l.mail.now = slot{full: true, round: m.Round, msgs: []agent.Message{m}}
		}
		b = b[size:]
	}
	return nil
}
