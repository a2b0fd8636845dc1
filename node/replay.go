package node

import (
	"context"
	"fmt"
	"slices"

	"sotto/config"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/topology"
)

// replay drives a node by recorded wakes: it steps at its places in a list that all
// members have, with the broadcasts that its neighbors have made before that place.
type replay struct {
	mailing
	recording *topology.Recording
}

var _ pacer = (*replay)(nil)

// checkWakes refuses to go on without a peer whose place in the list has come.
func (c *Config) checkWakes() error {
	if c.Wakes != nil && c.Missing != Wait {
		return config.Bad("missing", c.Missing, "wait, where wakes are recorded")
	}
	return nil
}

func newReplay(n *Node) (*replay, error) {
	r, err := topology.NewRecording(n.cfg.Wakes, n.cfg.Graph, n.cfg.Self)
	if err == nil && r.Own != n.cfg.Rounds {
		err = config.Bad("rounds", n.cfg.Rounds, fmt.Sprintf("%d, this agent's wakes in the list", r.Own))
	}
	if err != nil {
		return nil, err
	}
	return &replay{mailing{n: n}, r}, nil
}

func (p *replay) start() error {
	g := p.n.cfg.Graph
	p.n.cfg.Gate.Begin(0, g.In(p.n.cfg.Self))
	if err := p.begin(g); err != nil {
		return err
	}
	out, err := p.pack(g, p.n.out.Outbox, 0)
	if err != nil {
		return err
	}
	return p.keep(0, out)
}

func (p *replay) counts() (unit string, total uint64, known bool) {
	return InWakes, p.n.cfg.Rounds, true
}

// next completes one wake. An agent that is done sends its last broadcast on, because
// neighbors wait for it by number.
func (p *replay) next(ctx context.Context) error {
	n := p.n
	lacks := func(l *link) bool { return l.mail != nil && !l.mail.Now.Full }
	err := p.collect(ctx, func(int) bool { return !slices.ContainsFunc(n.order, lacks) }, lacks)
	if err != nil {
		return err
	}
	k := n.check.Round
	if n.check.Done {
		return p.keep(k+1, p.resent(k+1))
	}
	p.inbox = p.inbox[:0]
	n.mu.Lock()
	for _, nb := range n.cfg.Graph.In(n.cfg.Self) {
		p.inbox = append(p.inbox, n.links[nb.ID].mail.Now.Messages...)
	}
	n.mu.Unlock()
	return p.wake(&RoundReport{Round: k}, p.resent, p.keep)
}

// keep stores the state after so many wakes with the broadcast of the last one.
func (p *replay) keep(round uint64, out sent) error {
	n := p.n
	n.mu.Lock()
	c, last := n.check, *p.last()
	n.mu.Unlock()
	c.Round, c.Finished, c.Barrier = round, round == n.cfg.Rounds, false
	before := sent{round: round - 1}
	if round > 0 && last.round+1 == round {
		before = last
	}
	return p.store(&c, before, out, func(l *link) {
		if l.mail != nil {
			l.mail.Advance(p.expected(l, round))
		}
		p.queue(l, round, p.hears)
		l.finish(n)
	})
}

func (p *replay) resend(l *link, _ bool) {
	p.queue(l, 0, p.hears)
	l.finish(p.n)
}

func (p *replay) take(l *link, f *frame.Frame) error {
	if f.Kind != frame.Messages {
		return otherPace(f)
	}
	return p.read(l, f, p)
}

func (p *replay) hears(l *link, broadcast uint64) bool { return p.recording.Asks(l.id, broadcast) }

// noneExpected is after every frame.
const noneExpected = ^uint64(0)

func (p *replay) expected(l *link, wake uint64) uint64 {
	if wake >= p.recording.Own {
		return noneExpected
	}
	return p.recording.Needs[l.id][wake]
}

// The list is a barrier.
func (p *replay) judge(m *mailbox.Box, round, present uint64) mailbox.Verdict {
	return m.Judge(round, present, true)
}
