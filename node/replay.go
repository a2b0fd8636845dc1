package node

import (
	"context"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// replay drives a node by recorded wakes: it steps at its places in a list that all
// members have, with the broadcasts that its neighbors have made before that place.
type replay struct {
	mailing
	recording *recording
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
	r, err := newRecording(n.cfg.Wakes, n.cfg.Graph, n.cfg.Self)
	if err == nil && r.own != n.cfg.Rounds {
		err = config.Bad("rounds", n.cfg.Rounds, fmt.Sprintf("%d, this agent's wakes in the list", r.own))
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
	lacks := func(l *link) bool { return l.mail != nil && !l.mail.now.full }
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
		p.inbox = append(p.inbox, n.links[nb.ID].mail.now.msgs...)
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
			l.mail.advance(p.expected(l, round))
		}
		p.queue(l, round, p.hears)
		l.finish(n)
	})
}

func (p *replay) resend(l *link, _ bool) {
	p.queue(l, 0, p.hears)
	l.finish(p.n)
}

func (p *replay) take(l *link, f *Frame) error {
	if f.Kind != Messages {
		return otherPace(f)
	}
	return p.read(l, f, p)
}

func (p *replay) hears(l *link, broadcast uint64) bool { return p.recording.asks(l.id, broadcast) }

// noneExpected is after every frame.
const noneExpected = ^uint64(0)

func (p *replay) expected(l *link, wake uint64) uint64 {
	if wake >= p.recording.own {
		return noneExpected
	}
	return p.recording.needs[l.id][wake]
}

// The list is a barrier.
func (p *replay) judge(m *mailbox, round, present uint64) verdict {
	return m.judge(round, present, true)
}

// recording says, in a run whose wakes are recorded beforehand, which broadcast of each
// neighbor a wake takes in. Broadcast v of an agent is that of its wake number v, counted
// from 1, and 0 that of its start. Where the graph has both directions of every link, no
// neighbor can send a later one before this agent has taken its own turn: the list is a
// barrier as tight as rounds.
type recording struct {
	own   uint64                // wakes of this agent
	needs map[agent.ID][]uint64 // by neighbor: the broadcast that each of this agent's wakes takes in
	asked map[agent.ID][]bool   // by neighbor: whether it takes in each of this agent's broadcasts
}

// newRecording reads the list of who wakes, in order, for one agent.
func newRecording(wakes []agent.ID, g *topology.Graph, self agent.ID) (*recording, error) {
	if g.Directed() {
		return nil, config.Bad("graph", g.Name(), "links in both directions, where wakes are recorded")
	}
	t := &recording{needs: map[agent.ID][]uint64{}, asked: map[agent.ID][]bool{}}
	count := make([]uint64, g.Agents())
	mark := func(i agent.ID, v uint64) {
		for uint64(len(t.asked[i])) <= v {
			t.asked[i] = append(t.asked[i], false)
		}
		t.asked[i][v] = true
	}
	for k, i := range wakes {
		if int(i) >= len(count) {
			return nil, config.Bad(fmt.Sprintf("wakes[%d]", k), i, fmt.Sprintf("0 to %d", len(count)-1))
		}
		if i == self {
			for _, nb := range g.In(self) {
				t.needs[nb.ID] = append(t.needs[nb.ID], count[nb.ID])
			}
		} else if g.Weight(i, self) != 0 {
			mark(i, count[self])
		}
		count[i]++
	}
	t.own = count[self]
	return t, nil
}

// asks reports whether a neighbor takes in broadcast v.
func (t *recording) asks(i agent.ID, v uint64) bool {
	return v < uint64(len(t.asked[i])) && t.asked[i][v]
}
