package sim

import (
	"context"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
	"sotto/topology"
)

// wakes drives agents that wake by their own clocks, one after the other in time. Wakes
// that cannot touch each other run in parallel; the result has the bits of the sequence.
type wakes struct {
	cfg     counted
	graph   *topology.Graph
	pairs   bool // both ends of a wake step and exchange one message
	workers workers
	links   *links
	clock   *Clock
	nodes   []node
	levels  levels

	// Without faults everybody has an agent's last broadcast at once. (Pairs broadcast at
	// the start alone: counts is nil, and sent holds what they said.) Nothing but that
	// broadcast is then kept, close together, because with many agents a wake costs what
	// it has to fetch from memory.
	counts []uint32   // broadcasts so far, by agent
	bodies tensor.Vec // the last one's Dim values, by agent
}

// node is what the runtime keeps for one agent. A wake writes its own agent's node, or
// its two in a pair, and reads those of the agents it hears.
type node struct {
	sent   []posted // broadcasts that receivers may still have as the newest, in order
	seq    uint64   // broadcasts so far
	wakes  uint64   // in which it stepped
	done   bool
	joined bool
	traffic
}

func newWakes(cfg Config) (*wakes, error) {
	n := len(cfg.Agents)
	g, err := cfg.graph(0)
	if err != nil {
		return nil, err
	}
	if cfg.Replay != nil && uint64(len(cfg.Replay)) < cfg.Steps {
		return nil, config.Bad("wakes", cfg.Steps,
			fmt.Sprintf("at most %d, the length of the recorded list", len(cfg.Replay)))
	}
	pairs := cfg.Pacing == agent.PacingPairs
	l, err := newLinks(cfg.Faults, cfg.Seed, pairs)
	if err != nil {
		return nil, err
	}
	s := &wakes{cfg: counted{Config: cfg}, graph: g, pairs: pairs, links: l, nodes: make([]node, n),
		levels: newLevels(n)}
	s.workers = newWorkers(&s.cfg.Config, 8, 64)
	switch {
	case cfg.Replay != nil:
		s.clock = Replay(cfg.Replay)
	case pairs:
		s.clock = NewClock(cfg.Seed, n, g)
	default:
		s.clock = NewClock(cfg.Seed, n, nil)
	}
	if l == nil && !pairs {
		s.counts, s.bodies = make([]uint32, n), make(tensor.Vec, n*cfg.Dim)
	}
	return s, s.workers.Do(n, func(i int, w *worker) error {
		if l.away(agent.ID(i), 0) {
			return nil
		}
		return s.begin(w, agent.ID(i), 0, nil)
	})
}

func (s *wakes) Done() uint64           { return s.clock.number }
func (s *wakes) Models() int            { return len(s.nodes) }
func (s *wakes) Model(i int) tensor.Vec { return s.cfg.Agents[i].Algorithm.Params() }
func (s *wakes) BytesSent(i int) uint64 { return s.nodes[i].bytes }

func (s *wakes) Count(links [][2]int) *Tally { return s.cfg.Count(links) }

func (s *wakes) Stats() Stats {
	var t Stats
	for i := range s.nodes {
		t.add(&s.nodes[i].stats)
	}
	return t
}

// batch is the number of wakes that are ordered at a time.
const batch = 4096

// Run completes wakes until the given number, at most Config.Steps. It stops between
// two batches with ctx's error when ctx is done.
func (s *wakes) Run(ctx context.Context, until uint64) error {
	until = min(until, s.cfg.Steps)
	wakes := make([]Wake, 0, batch)
	for s.clock.number < until {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := s.clock.number
		wakes = wakes[:0]
		for len(wakes) < batch && s.clock.number < until {
			w, _ := s.clock.Next() // newWakes has checked the length of a replayed list
			wakes = append(wakes, w)
		}
		if err := s.run(first, wakes); err != nil {
			return err
		}
	}
	return nil
}

// run takes wakes level by level: what is in one level can run in any order.
func (s *wakes) run(first uint64, wakes []Wake) error {
	one := func(k int, w *worker) error {
		if err := s.wake(w, wakes[k]); err != nil {
			return fmt.Errorf("agent %d, wake %d: %w", wakes[k].Agent, first+uint64(k), err)
		}
		return nil
	}
	if s.workers.Workers == 1 {
		return s.workers.Do(len(wakes), one)
	}
	order, ends := s.levels.sort(wakes, s.graph)
	lo := 0
	for _, hi := range ends {
		level := order[lo:hi]
		err := s.workers.Do(len(level), func(k int, w *worker) error { return one(int(level[k]), w) })
		if err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// wake steps the agents of one wake.
func (s *wakes) wake(w *worker, k Wake) error {
	i, nd := k.Agent, &s.nodes[k.Agent]
	switch {
	case s.links.away(i, k.Time):
		nd.stats.Absent++
		return nil
	case s.pairs && k.Peer == agent.Broadcast:
		nd.stats.Idle++
		return nil
	case s.pairs:
		return s.pair(w, k)
	}
	if nd.done {
		nd.stats.Idle++
		return nil
	}
	s.hear(w, i, k.Time)
	if !nd.joined {
		return s.begin(w, i, k.Time, w.inbox)
	}
	w.in = agent.Input{
		Kind:  agent.Wake,
		Round: nd.wakes,
		View:  w.fullView(s.graph, i),
		Peer:  agent.Broadcast,
		Inbox: w.inbox,
	}
	return s.stepOne(w, i, k.Time)
}

// begin gives Start to an agent that joins.
func (s *wakes) begin(w *worker, i agent.ID, now float64, inbox []agent.Message) error {
	s.nodes[i].joined = true
	w.in = agent.Input{Kind: agent.Start, View: w.fullView(s.graph, i), Inbox: inbox}
	return s.stepOne(w, i, now)
}

// hear fills w.inbox with the newest message of every agent that i hears; in pairs what
// those that were there sent at the start.
func (s *wakes) hear(w *worker, i agent.ID, now float64) {
	w.inbox = w.inbox[:0]
	if s.counts != nil {
		for _, nb := range w.sums.rows.In(s.graph, i) {
			if c := s.counts[nb.ID]; c > 0 {
				w.inbox = append(w.inbox, agent.Message{
					From:  nb.ID,
					To:    agent.Broadcast,
					Round: uint64(c - 1),
					Body:  s.body(nb.ID),
				})
			}
		}
		return
	}
	for _, nb := range w.sums.rows.In(s.graph, i) {
		if m := s.links.newest(s.nodes[nb.ID].sent, nb.ID, i, now); m != nil {
			w.inbox = append(w.inbox, *m)
		}
	}
}

// stepOne steps one agent with w.in and sends what it broadcasts.
func (s *wakes) stepOne(w *worker, i agent.ID, now float64) error {
	a, nd := &s.cfg.Agents[i], &s.nodes[i]
	if a.Gate != nil {
		a.Gate.Begin(nd.wakes, w.in.View.In)
	}
	kind := w.in.Kind
	if err := w.stepUntilDone(a, &nd.stats); err != nil {
		return err
	}
	if kind == agent.Wake {
		nd.wakes++
	}
	nd.done = w.out.Done
	for k := range w.out.Outbox {
		if s.pairs && now > 0 {
			continue // whoever joins later is known from its meetings alone
		}
		if m := &w.out.Outbox[k]; m.To != agent.Broadcast {
			return fmt.Errorf("message to %d in a wake that is for a broadcast", m.To)
		}
		if err := s.broadcast(nd, i, now, &w.out.Outbox[k]); err != nil {
			return err
		}
	}
	return nil
}

// body is agent i's last broadcast where there are no faults.
func (s *wakes) body(i agent.ID) tensor.Vec {
	lo, hi := int(i)*s.cfg.Dim, (int(i)+1)*s.cfg.Dim
	return s.bodies[lo:hi:hi]
}

func (s *wakes) broadcast(nd *node, i agent.ID, now float64, m *agent.Message) error {
	if len(m.Body) != s.cfg.Dim || m.Mass != 0 {
		return fmt.Errorf("a broadcast of %d values and mass %g in a run whose models have %d values",
			len(m.Body), m.Mass, s.cfg.Dim)
	}
	receivers := s.graph.OutDegree(i)
	nd.stats.Sent += uint64(receivers)
	nd.stats.Vectors += float64(receivers)
	nd.bytes += uint64(receivers) * uint64(agent.MessageSize(len(m.Body)))
	m.From = i
	s.cfg.tally.posted(s.graph, m, agent.MessageSize(len(m.Body)))
	seq := nd.seq
	nd.seq++
	if s.counts != nil {
		s.counts[i] = uint32(nd.seq)
		copy(s.body(i), m.Body)
		return nil
	}
	for _, nb := range s.graph.Out(i) {
		if s.links.lost(i, nb.ID, seq) {
			nd.stats.Dropped++
			s.cfg.tally.lost(i, nb.ID)
		}
	}
	at := len(nd.sent)
	if at < cap(nd.sent) {
		nd.sent = nd.sent[:at+1]
	} else {
		nd.sent = append(nd.sent, posted{})
	}
	p := &nd.sent[at]
	p.seq, p.time = seq, now
	p.msg = agent.Message{From: i, To: agent.Broadcast, Round: seq, Body: append(p.msg.Body[:0], m.Body...)}
	if len(nd.sent) > 1 {
		nd.sent = s.links.forget(nd.sent, s.graph, i, now)
	}
	return nil
}

// pair steps both ends of a pairwise wake and exchanges their messages, all at once. A
// lost message undoes the meeting before it begins.
func (s *wakes) pair(w *worker, k Wake) error {
	ends := [2]agent.ID{k.Agent, k.Peer}
	a, b := &s.nodes[ends[0]], &s.nodes[ends[1]]
	switch {
	case s.links.away(ends[1], k.Time):
		a.stats.Absent++
		return nil
	case s.links.lost(ends[0], ends[1], a.seq+b.seq):
		a.stats.Dropped++
		s.cfg.tally.lost(ends[0], ends[1])
		a.seq++
		return nil
	}
	var sent [2]agent.Message
	for e, i := range ends {
		nd := &s.nodes[i]
		if !nd.joined {
			if err := s.begin(w, i, k.Time, nil); err != nil {
				return err
			}
		}
		s.hear(w, i, k.Time)
		w.in = agent.Input{
			Kind:  agent.Wake,
			Round: nd.wakes,
			View:  w.fullView(s.graph, i),
			Peer:  ends[1-e],
			Inbox: w.inbox,
		}
		if g := s.cfg.Agents[i].Gate; g != nil {
			g.Begin(nd.wakes, nil)
		}
		if err := w.stepUntilDone(&s.cfg.Agents[i], &nd.stats); err != nil {
			return err
		}
		nd.wakes++
		if len(w.out.Outbox) != 1 || w.out.Outbox[0].To != ends[1-e] {
			return fmt.Errorf("%d messages in a pairwise wake, which needs one, to agent %d",
				len(w.out.Outbox), ends[1-e])
		}
		m := w.out.Outbox[0]
		w.bodies[e] = append(w.bodies[e][:0], m.Body...)
		sent[e] = agent.Message{From: i, To: ends[1-e], Round: nd.seq, Mass: m.Mass, Body: w.bodies[e]}
		nd.seq++
		nd.stats.Sent++
		nd.stats.Vectors += float64(len(m.Body)) / float64(s.cfg.Dim)
		nd.bytes += uint64(agent.MessageSize(len(m.Body)))
		s.cfg.tally.sent(i, ends[1-e], agent.MessageSize(len(m.Body)))
	}
	for e, i := range ends {
		w.inbox = append(w.inbox[:0], sent[1-e])
		w.in = agent.Input{
			Kind:  agent.Exchange,
			Round: s.nodes[i].wakes,
			View:  w.fullView(s.graph, i),
			Peer:  ends[1-e],
			Inbox: w.inbox,
		}
		if err := w.stepUntilDone(&s.cfg.Agents[i], &s.nodes[i].stats); err != nil {
			return err
		}
	}
	return nil
}
