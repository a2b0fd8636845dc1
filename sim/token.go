package sim

import (
	"context"
	"fmt"
	"runtime"

	"sotto/agent"
	"sotto/config"
	"sotto/rng"
	"sotto/tensor"
	"sotto/topology"
)

// TokenConfig describes a simulation in which tokens walk over a graph.
type TokenConfig struct {
	Agents  []Agent
	Graph   *topology.Graph // undirected, as many agents; does not change
	Dim     int             // length of answers and tokens
	Init    tensor.Vec      // what every token holds at the start
	Tokens  int
	Steps   uint64 // ticks, in each of which every token makes a step
	Workers int    // goroutines; 0 means one for each processor
	Seed    uint64 // of faults, and of public hops
	Secret  uint64 // of the agents' own streams, from which secret hops are drawn
	Public  bool   // hops follow from Seed, for all to compute
	// Faults: a token that a link drops is sent again in the next tick; a token waits for
	// a receiver that is away. Time is in ticks.
	Faults Faults
}

// Tokens is a running simulation of tokens. In a tick every token visits the agent that
// it was sent to: the agent is stepped with it and sends it on, to itself or to a
// neighbor, with the probabilities of the agent's row of W. Tokens that meet at an agent
// are taken in the order of their numbers, and agents share nothing: the result has the
// same bits for any number of workers.
type Tokens struct {
	cfg    TokenConfig
	links  *links
	tick   uint64
	tokens []token
	nodes  []holder
	here   [][]int32 // tokens that visit an agent in this tick, by agent
	busy   []int32   // agents with such tokens
	waits  Stats     // of tokens that are not at an agent
}

// token is one model on its way.
type token struct {
	from, to agent.ID
	steps    uint64
	body     tensor.Vec
}

// holder is what the runtime keeps for one agent.
type holder struct {
	visits uint64
	bytes  uint64
	stats  Stats
}

// NewTokens checks cfg, starts every algorithm and draws where the tokens start,
// uniformly.
func NewTokens(cfg TokenConfig) (*Tokens, error) {
	n := len(cfg.Agents)
	switch {
	case n == 0:
		return nil, config.Bad("agents", n, "at least 1")
	case cfg.Graph.Agents() != n:
		return nil, config.Bad("agents", cfg.Graph.Agents(), fmt.Sprint(n))
	case cfg.Graph.Directed():
		return nil, config.Bad("graph", cfg.Graph.Name(),
			"an undirected one: a token goes to who hears its holder, with the weight that its holder gives")
	case cfg.Tokens < 1 || cfg.Tokens > 1<<20:
		return nil, config.Bad("tokens", cfg.Tokens, "1 to 1048576")
	case cfg.Workers < 0:
		return nil, config.Bad("workers", cfg.Workers, "at least 0")
	case cfg.Faults.Latency != 0:
		return nil, config.Bad("latency", cfg.Faults.Latency,
			"0 with tokens, which take one tick for each hop")
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	l, err := newLinks(cfg.Faults, cfg.Seed, false)
	if err != nil {
		return nil, err
	}
	s := &Tokens{
		cfg:    cfg,
		links:  l,
		tokens: make([]token, cfg.Tokens),
		nodes:  make([]holder, n),
		here:   make([][]int32, n),
	}
	var stream rng.Stream
	for k := range s.tokens {
		to := agent.ID(s.stream(&stream, ^agent.ID(0), uint64(k), k, ^uint64(0)).Below(uint64(n)))
		body := make(tensor.Vec, cfg.Dim)
		copy(body, cfg.Init)
		s.tokens[k] = token{from: to, to: to, body: body}
	}
	return s, each(cfg.Workers, cfg.Dim, n, func(w *worker, i int) error {
		w.in = agent.Input{Kind: agent.Start, View: w.fullView(cfg.Graph, agent.ID(i))}
		if err := w.settle(&cfg.Agents[i], &s.nodes[i].stats); err != nil {
			return fmt.Errorf("agent %d: %w", i, err)
		}
		if len(w.out.Outbox) > 0 {
			return fmt.Errorf("agent %d: %d messages at the start of a run whose messages are tokens", i,
				len(w.out.Outbox))
		}
		return nil
	})
}

// stream is the one from which agent i draws the hop of its visit with the given number,
// by token k after so many steps; for the agent that no run has, where a token starts.
func (s *Tokens) stream(to *rng.Stream, i agent.ID, visit uint64, k int, steps uint64) *rng.Stream {
	if s.cfg.Public {
		return rng.Public(s.cfg.Seed, "hop", uint64(k), steps)
	}
	key := rng.Simulated(s.cfg.Secret, uint32(i), visit)
	to.Rekey(&key, rng.Choice)
	key.Erase()
	return to
}

// Round returns the number of ticks that are complete.
func (s *Tokens) Round() uint64 { return s.tick }

// Params returns what token k holds; it is valid until the next Run.
func (s *Tokens) Params(k int) tensor.Vec { return s.tokens[k].body }

// Visits returns how many tokens agent i has held.
func (s *Tokens) Visits(i int) uint64 { return s.nodes[i].visits }

// BytesSent returns what agent i has put on its links, in wire format.
func (s *Tokens) BytesSent(i int) uint64 { return s.nodes[i].bytes }

// Stats returns the counts over all agents so far.
func (s *Tokens) Stats() Stats {
	t := s.waits
	for i := range s.nodes {
		t.add(&s.nodes[i].stats)
	}
	return t
}

// Run completes ticks until the given one, at most TokenConfig.Steps. It stops between
// two ticks with ctx's error when ctx is done.
func (s *Tokens) Run(ctx context.Context, until uint64) error {
	for s.tick < min(until, s.cfg.Steps) {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.arrive()
		err := each(s.cfg.Workers, s.cfg.Dim, len(s.busy), func(w *worker, k int) error {
			i := agent.ID(s.busy[k])
			for _, t := range s.here[i] {
				if err := s.visit(w, i, int(t)); err != nil {
					return fmt.Errorf("agent %d, token %d, tick %d: %w", i, t, s.tick, err)
				}
			}
			return nil
		})
		for _, i := range s.busy {
			s.here[i] = s.here[i][:0]
		}
		s.busy = s.busy[:0]
		if err != nil {
			return err
		}
		s.tick++
	}
	return nil
}

// arrive brings every token to its receiver that reaches it in this tick.
func (s *Tokens) arrive() {
	for k := range s.tokens {
		t := &s.tokens[k]
		switch {
		case s.links.away(t.to, float64(s.tick)):
			s.waits.Absent++
		case t.from != t.to && s.links.lost(t.from, t.to, s.tick*uint64(s.cfg.Tokens)+uint64(k)):
			s.waits.Dropped++
		default:
			if len(s.here[t.to]) == 0 {
				s.busy = append(s.busy, int32(t.to))
			}
			s.here[t.to] = append(s.here[t.to], int32(k))
		}
	}
}

// visit steps agent i with token k and sends it on.
func (s *Tokens) visit(w *worker, i agent.ID, k int) error {
	t, nd, a := &s.tokens[k], &s.nodes[i], &s.cfg.Agents[i]
	hop := s.hop(s.stream(&w.hops, i, nd.visits, k, t.steps).Float64(), i)
	w.hops.Erase()
	w.inbox = append(w.inbox[:0], agent.Message{From: t.from, To: i, Round: t.steps, Body: t.body})
	w.in = agent.Input{
		Kind:  agent.Token,
		Round: t.steps,
		View:  w.fullView(s.cfg.Graph, i),
		Peer:  hop,
		Inbox: w.inbox,
	}
	if a.Gate != nil {
		a.Gate.Begin(nd.visits, nil)
	}
	if err := w.settle(a, &nd.stats); err != nil {
		return err
	}
	if len(w.out.Outbox) != 1 || w.out.Outbox[0].To != hop || len(w.out.Outbox[0].Body) != s.cfg.Dim {
		return fmt.Errorf("%d messages after a visit, which needs one of %d values, to agent %d",
			len(w.out.Outbox), s.cfg.Dim, hop)
	}
	copy(t.body, w.out.Outbox[0].Body)
	t.from, t.to = i, hop
	t.steps++
	nd.visits++
	if hop != i {
		nd.stats.Sent++
		nd.stats.Vectors++
		nd.bytes += uint64(agent.MessageSize(s.cfg.Dim))
	}
	return nil
}

// hop is the agent that a uniform u stands for in the row of agent i: j with probability
// w_ij, i itself with w_ii.
func (s *Tokens) hop(u float64, i agent.ID) agent.ID {
	for _, nb := range s.cfg.Graph.In(i) {
		if u -= nb.Weight; u < 0 {
			return nb.ID
		}
	}
	return i
}
