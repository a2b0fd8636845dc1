package sim

import (
	"context"
	"fmt"

	"sotto/agent"
	"sotto/tensor"
	"sotto/topology"
)

// rounds drives agents synchronously: all are stepped with what was sent in the round
// before.
type rounds struct {
	cfg     counted
	workers workers
	faults  *faultPlan
	round   uint64
	peers   []peer
	mixing  mixing
}

// peer is what the runtime keeps for one agent. During a round only the worker that steps
// the agent writes it; sent is read by others, next is written.
type peer struct {
	sent    []agent.Message // to be delivered in the current round
	lends   bool            // bodies of sent and next belong to the algorithm
	next    []agent.Message // being filled for the coming round
	pending []late          // messages on slow links, by arrival
	traffic
}

type late struct {
	arrives uint64
	msg     agent.Message
}

// newRounds checks cfg and starts every algorithm, so that round 0 has messages to
// deliver.
func newRounds(cfg Config) (*rounds, error) {
	if cfg.GaussSeidel {
		cfg.Workers = 1
	}
	if cfg.MessageSize == nil {
		cfg.MessageSize = agent.MessageSize
	}
	f, err := newFaultPlan(cfg.Faults, cfg.Seed)
	if err != nil {
		return nil, err
	}
	s := &rounds{cfg: counted{Config: cfg}, faults: f, peers: make([]peer, len(cfg.Agents))}
	s.workers = newWorkers(&s.cfg.Config, 1, 16)
	g, err := s.cfg.graph(0)
	if err != nil {
		return nil, err
	}
	err = s.workers.Do(len(s.peers), func(i int, w *worker) error {
		if l, ok := cfg.Agents[i].Algorithm.(agent.Lender); ok {
			w.out.Reset()
			s.peers[i].lends = l.Lend(&w.out)
		}
		w.in = agent.Input{Kind: agent.Start, View: w.fullView(g, agent.ID(i))}
		return s.step(w, i, g, 0)
	})
	if err != nil {
		return nil, err
	}
	s.swap()
	return s, nil
}

func (s *rounds) Done() uint64           { return s.round }
func (s *rounds) Models() int            { return len(s.peers) }
func (s *rounds) Model(i int) tensor.Vec { return s.cfg.Agents[i].Algorithm.Params() }
func (s *rounds) BytesSent(i int) uint64 { return s.peers[i].bytes }

// Count also counts what is under way.
func (s *rounds) Count(links [][2]int) *Tally {
	t := s.cfg.Count(links)
	g, err := s.cfg.graph(s.round)
	if err != nil { // Run says it
		return t
	}
	for i := range s.peers {
		for k := range s.peers[i].sent {
			m := &s.peers[i].sent[k]
			t.posted(g, m, s.cfg.MessageSize(len(m.Body)))
		}
	}
	return t
}

func (s *rounds) Stats() Stats {
	var t Stats
	for i := range s.peers {
		t.add(&s.peers[i].stats)
	}
	return t
}

func (s *rounds) Run(ctx context.Context, until uint64) error {
	for s.round < min(until, s.cfg.Steps) {
		if err := ctx.Err(); err != nil {
			return err
		}
		g, err := s.cfg.graph(s.round)
		if err != nil {
			return err
		}
		if err := s.mix(g); err != nil {
			return err
		}
		err = s.workers.Do(len(s.peers), func(i int, w *worker) error { return s.stepRound(w, i, g) })
		if err != nil {
			return err
		}
		s.swap()
		s.round++
	}
	return nil
}

func (s *rounds) swap() {
	for i := range s.peers {
		p := &s.peers[i]
		p.sent, p.next = p.next, p.sent[:0]
	}
}

// step runs one agent until it has no query left and stores what it sends for round.
func (s *rounds) step(w *worker, i int, g *topology.Graph, round uint64) error {
	a, p := &s.cfg.Agents[i], &s.peers[i]
	if err := w.stepUntilDone(a, &p.stats); err != nil {
		return fmt.Errorf("agent %d, round %d: %w", i, s.round, err)
	}
	return s.post(p, agent.ID(i), g, round, w.out.Outbox)
}

// post keeps an outbox for the given round, with copies of the bodies unless they are
// lent. What would be delivered after the last round is not sent.
func (s *rounds) post(p *peer, id agent.ID, g *topology.Graph, round uint64, outbox []agent.Message) error {
	if round >= s.cfg.Steps && !s.cfg.GaussSeidel {
		return nil
	}
	for k, m := range outbox {
		if len(p.next) < cap(p.next) {
			p.next = p.next[:k+1]
		} else {
			p.next = append(p.next, agent.Message{})
		}
		receivers := uint64(1)
		if m.To == agent.Broadcast {
			receivers = uint64(g.OutDegree(id))
		} else if int(m.To) >= len(s.peers) || g.Weight(m.To, id) == 0 {
			return fmt.Errorf("agent %d, round %d: message to %d, which does not hear it", id, s.round, m.To)
		}
		m.From, m.Round = id, round
		if !p.lends {
			m.Body = append(p.next[k].Body[:0], m.Body...)
		}
		p.next[k] = m
		size := s.cfg.MessageSize(len(m.Body))
		p.stats.Sent += receivers
		p.bytes += receivers * uint64(size)
		s.cfg.tally.posted(g, &p.next[k], size)
	}
	return nil
}
