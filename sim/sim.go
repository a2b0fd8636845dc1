// Package sim runs many agents of an algorithm in one process: the same state machines
// that a daemon runs, on links that lose and delay messages by a seeded schedule. Results
// do not depend on the number of workers: agents are independent within a round, and
// nothing is ordered by time.
package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/tensor"
	"sotto/topology"
)

// Gate answers an agent's queries; *privacy.Gate is one.
type Gate interface {
	// Begin tells the gate the round and the neighbors whose messages arrived in it.
	Begin(round uint64, live []agent.Neighbor)
	// Answer fills dst; privacy.ErrExhausted says that the budget is spent and nothing
	// was released.
	Answer(q *agent.Query, dst tensor.Vec) error
}

// Agent is one participant.
type Agent struct {
	Algorithm agent.Algorithm
	Gate      Gate
	// Silent makes every message of this agent an error: its gate answers without noise
	// because nothing may leave.
	Silent bool
}

// Config describes a synchronous simulation.
type Config struct {
	Agents   []Agent
	Schedule topology.Schedule // one graph a round, with as many agents
	Dim      int               // length of answers
	Rounds   uint64
	Workers  int    // goroutines; 0 means one for each processor
	Seed     uint64 // of the fault schedule
	Faults   Faults
	// GaussSeidel steps agents one after the other; each receives what agents of lower
	// number have sent in this very round. It replicates implementations that mix in
	// place: the mean of all models is not preserved.
	GaussSeidel bool
	// MessageSize is the length in bytes of a message whose body has dim values, for what
	// is counted as sent; nil: agent.MessageSize.
	MessageSize func(dim int) int
}

// Stats counts what happened on the links and at the gates, over all agents.
type Stats struct {
	Sent    uint64 `json:"sent"`    // messages handed to a link
	Dropped uint64 `json:"dropped"` // lost on the link
	Late    uint64 `json:"late"`    // arrived after their round
	Stale   uint64 `json:"stale"`   // arrived late and were discarded
	// links of a round on which one direction arrived and the other did not
	OneSided  uint64 `json:"one_sided"`
	Exhausted uint64 `json:"exhausted"` // queries refused because the budget was spent

	// Asynchronous runs only:
	// vectors of the model's length that were sent, one for each receiver
	Vectors float64 `json:"vectors,omitempty"`
	Idle    uint64  `json:"idle,omitempty"`   // wakes of agents that were done
	Absent  uint64  `json:"absent,omitempty"` // wakes of agents that were away
}

func (s *Stats) add(t *Stats) {
	s.Sent += t.Sent
	s.Dropped += t.Dropped
	s.Late += t.Late
	s.Stale += t.Stale
	s.OneSided += t.OneSided
	s.Exhausted += t.Exhausted
	s.Vectors += t.Vectors
	s.Idle += t.Idle
	s.Absent += t.Absent
}

// ErrSent says that a silent agent tried to send.
var ErrSent = errors.New("sim: an agent whose answers carry no noise tried to send a message")

// Sim is a running simulation.
type Sim struct {
	cfg    Config
	faults *schedule
	round  uint64
	peers  []peer
}

// peer is what the runtime keeps for one agent. During a round only the worker that steps
// the agent writes it; sent is read by others, next is written.
type peer struct {
	sent    []agent.Message // to be delivered in the current round
	next    []agent.Message // being filled for the coming round
	pending []late          // messages on slow links, by arrival
	bytes   uint64          // sent so far, one count for each receiver
	stats   Stats
}

type late struct {
	arrives uint64
	msg     agent.Message
}

// New checks cfg and starts every algorithm, so that round 0 has messages to deliver.
func New(cfg Config) (*Sim, error) {
	n := len(cfg.Agents)
	if n == 0 {
		return nil, config.Bad("agents", n, "at least 1")
	}
	if cfg.Workers < 0 {
		return nil, config.Bad("workers", cfg.Workers, "at least 0")
	}
	if cfg.GaussSeidel {
		cfg.Workers = 1
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.MessageSize == nil {
		cfg.MessageSize = agent.MessageSize
	}
	f, err := newSchedule(cfg.Faults, cfg.Seed)
	if err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, faults: f, peers: make([]peer, n)}
	g, err := s.graph(0)
	if err != nil {
		return nil, err
	}
	err = s.parallel(func(w *worker, i int) error {
		w.in = agent.Input{Kind: agent.Start, View: w.fullView(g, agent.ID(i))}
		return s.step(w, i, g, 0)
	})
	if err != nil {
		return nil, err
	}
	s.swap()
	return s, nil
}

// Round returns the number of rounds that are complete.
func (s *Sim) Round() uint64 { return s.round }

// Params returns agent i's current model; it is valid until the next round.
func (s *Sim) Params(i int) tensor.Vec { return s.cfg.Agents[i].Algorithm.Params() }

// BytesSent returns what agent i has put on its links, counting each receiver, in wire
// format.
func (s *Sim) BytesSent(i int) uint64 { return s.peers[i].bytes }

// Stats returns the counts over all agents so far.
func (s *Sim) Stats() Stats {
	var t Stats
	for i := range s.peers {
		t.add(&s.peers[i].stats)
	}
	return t
}

// Run completes rounds until the given round, at most Config.Rounds. It stops between two
// rounds with ctx's error when ctx is done; the simulation can then be saved and goes on
// where it stopped.
func (s *Sim) Run(ctx context.Context, until uint64) error {
	for s.round < min(until, s.cfg.Rounds) {
		if err := ctx.Err(); err != nil {
			return err
		}
		g, err := s.graph(s.round)
		if err != nil {
			return err
		}
		if err := s.parallel(func(w *worker, i int) error { return s.stepRound(w, i, g) }); err != nil {
			return err
		}
		s.swap()
		s.round++
	}
	return nil
}

func (s *Sim) graph(round uint64) (*topology.Graph, error) {
	g, err := s.cfg.Schedule.At(round)
	if err != nil {
		return nil, fmt.Errorf("graph of round %d: %w", round, err)
	}
	if g.Agents() != len(s.cfg.Agents) {
		return nil, fmt.Errorf("graph of round %d: %w", round,
			config.Bad("agents", g.Agents(), fmt.Sprint(len(s.cfg.Agents))))
	}
	return g, nil
}

func (s *Sim) swap() {
	for i := range s.peers {
		p := &s.peers[i]
		p.sent, p.next = p.next, p.sent[:0]
	}
}

// parallel calls f for every agent on Config.Workers goroutines. Of several errors the
// one of the lowest agent is returned, so that a failure too does not depend on the
// worker count.
func (s *Sim) parallel(f func(w *worker, i int) error) error {
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		mu     sync.Mutex
		first  error
		failed = len(s.peers)
	)
	const batch = 16 // agents taken at once, where there are many
	take := int64(max(1, min(batch, len(s.peers)/(8*s.cfg.Workers))))
	work := func() {
		defer wg.Done()
		w := &worker{answer: make(tensor.Vec, s.cfg.Dim)}
		for {
			lo := int(next.Add(take) - take)
			if lo >= len(s.peers) {
				return
			}
			for i := lo; i < min(lo+int(take), len(s.peers)); i++ {
				if err := f(w, i); err != nil {
					mu.Lock()
					if i < failed {
						failed, first = i, err
					}
					mu.Unlock()
				}
			}
		}
	}
	workers := min(s.cfg.Workers, len(s.peers))
	wg.Add(workers)
	for range workers - 1 {
		go work()
	}
	work()
	wg.Wait()
	return first
}

// step runs one agent until it has no query left and stores what it sends for round.
func (s *Sim) step(w *worker, i int, g *topology.Graph, round uint64) error {
	a, p := &s.cfg.Agents[i], &s.peers[i]
	if err := w.settle(a, &p.stats); err != nil {
		return fmt.Errorf("agent %d, round %d: %w", i, s.round, err)
	}
	return s.post(p, agent.ID(i), g, round, w.out.Outbox)
}

// settle steps an agent with w.in, and with the answers to its queries until it has none
// left; w.out then holds what it sends.
func (w *worker) settle(a *Agent, stats *Stats) error {
	for {
		w.out.Reset()
		if err := a.Algorithm.Step(&w.in, &w.out); err != nil {
			return err
		}
		if w.out.Query == nil {
			break
		}
		w.in.Kind, w.in.Answer, w.in.Inbox, w.in.Returned = agent.Answer, w.answer, nil, nil
		switch err := a.Gate.Answer(w.out.Query, w.answer); {
		case errors.Is(err, privacy.ErrExhausted):
			w.in.Kind, w.in.Answer = agent.Exhausted, nil
			stats.Exhausted++
		case err != nil:
			return err
		}
	}
	if a.Silent && len(w.out.Outbox) > 0 {
		return ErrSent
	}
	return nil
}

// post copies an outbox into the sender's buffers for the given round. What would be
// delivered after the last round is not sent.
func (s *Sim) post(p *peer, id agent.ID, g *topology.Graph, round uint64, outbox []agent.Message) error {
	if round >= s.cfg.Rounds && !s.cfg.GaussSeidel {
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
			receivers = uint64(len(g.Out(id)))
		} else if int(m.To) >= len(s.peers) || g.Weight(m.To, id) == 0 {
			return fmt.Errorf("agent %d, round %d: message to %d, which does not hear it", id, s.round, m.To)
		}
		m.From, m.Round, m.Body = id, round, append(p.next[k].Body[:0], m.Body...)
		p.next[k] = m
		p.stats.Sent += receivers
		p.bytes += receivers * uint64(s.cfg.MessageSize(len(m.Body)))
	}
	return nil
}
