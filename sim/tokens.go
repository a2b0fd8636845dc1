package sim

import (
	"context"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/rng"
	"sotto/tensor"
	"sotto/topology"
)

// tokens drives agents by the tokens that they hold. In a tick every token visits the
// agent that it was sent to: the agent is stepped with it and sends it on, to itself or
// to a neighbor, with the probabilities of the agent's row of W. A token that a link
// drops is sent again in the next tick; a token waits for a receiver that is away. Tokens
// that meet at an agent are taken in the order of their numbers, and agents share
// nothing: the result has the same bits for any number of workers.
type tokens struct {
	cfg     counted
	graph   *topology.Graph
	workers workers
	links   *links
	tick    uint64
	tokens  []token
	nodes   []holder
	here    [][]int32 // tokens that visit an agent in this tick, by agent
	busy    []int32   // agents with such tokens
	waits   Stats     // of tokens that are not at an agent
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
	traffic
}

// newTokens checks cfg, starts every algorithm and draws where the tokens start,
// uniformly.
func newTokens(cfg Config) (*tokens, error) {
	n := len(cfg.Agents)
	g, err := cfg.graph(0)
	if err != nil {
		return nil, err
	}
	switch {
	case g.Directed():
		return nil, config.Bad("graph", g.Name(),
			"an undirected one: a token goes to who hears its holder, with the weight that its holder gives")
	case cfg.Tokens.Count < 1 || cfg.Tokens.Count > 1<<20:
		return nil, config.Bad("tokens", cfg.Tokens.Count, "1 to 1048576")
	}
	l, err := tokenLinks(cfg.Faults, cfg.Seed)
	if err != nil {
		return nil, err
	}
	s := &tokens{
		cfg:    counted{Config: cfg},
		graph:  g,
		links:  l,
		tokens: make([]token, cfg.Tokens.Count),
		nodes:  make([]holder, n),
		here:   make([][]int32, n),
	}
	s.workers = newWorkers(&s.cfg.Config, 8, 64)
	var stream rng.Stream
	for k := range s.tokens {
		to := agent.ID(s.stream(&stream, ^agent.ID(0), uint64(k), k, ^uint64(0)).Below(uint64(n)))
		body := make(tensor.Vec, cfg.Dim)
		copy(body, cfg.Tokens.Init)
		s.tokens[k] = token{from: to, to: to, body: body}
	}
	return s, s.workers.Do(n, func(i int, w *worker) error {
		w.in = agent.Input{Kind: agent.Start, View: w.fullView(g, agent.ID(i))}
		if err := w.stepUntilDone(&cfg.Agents[i], &s.nodes[i].stats); err != nil {
			return fmt.Errorf("agent %d: %w", i, err)
		}
		if len(w.out.Outbox) > 0 {
			return fmt.Errorf("agent %d: %d messages at the start of a run whose messages are tokens", i,
				len(w.out.Outbox))
		}
		return nil
	})
}

// tokenLinks are those that tokens go over.
func tokenLinks(f Faults, seed uint64) (*links, error) {
	if f.Latency != 0 {
		return nil, config.Bad("latency", f.Latency, "0 with tokens, which take one tick for each hop")
	}
	return newLinks(f, seed, false)
}

// stream is the one from which agent i draws the hop of its visit with the given number,
// by token k after so many steps; for the agent that no run has, where a token starts.
func (s *tokens) stream(to *rng.Stream, i agent.ID, visit uint64, k int, steps uint64) *rng.Stream {
	if s.cfg.Tokens.Public {
		return rng.Public(s.cfg.Seed, "hop", uint64(k), steps)
	}
	key := rng.Simulated(s.cfg.Tokens.Secret, uint32(i), visit)
	to.Rekey(&key, rng.Choice)
	key.Erase()
	return to
}

func (s *tokens) Done() uint64           { return s.tick }
func (s *tokens) Models() int            { return len(s.tokens) }
func (s *tokens) Model(k int) tensor.Vec { return s.tokens[k].body }
func (s *tokens) BytesSent(i int) uint64 { return s.nodes[i].bytes }

// Visits returns how many tokens agent i has held.
func (s *tokens) Visits(i int) uint64 { return s.nodes[i].visits }

func (s *tokens) Count(links [][2]int) *Tally { return s.cfg.Count(links) }

func (s *tokens) Stats() Stats {
	t := s.waits
	for i := range s.nodes {
		t.add(&s.nodes[i].stats)
	}
	return t
}

func (s *tokens) Run(ctx context.Context, until uint64) error {
	for s.tick < min(until, s.cfg.Steps) {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.arrive()
		err := s.workers.Do(len(s.busy), func(k int, w *worker) error {
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
func (s *tokens) arrive() {
	for k := range s.tokens {
		t := &s.tokens[k]
		switch {
		case s.links.away(t.to, float64(s.tick)):
			s.waits.Absent++
		case t.from != t.to && s.links.lost(t.from, t.to, s.tick*uint64(s.cfg.Tokens.Count)+uint64(k)):
			s.waits.Dropped++
			s.cfg.tally.lost(t.from, t.to)
		default:
			if len(s.here[t.to]) == 0 {
				s.busy = append(s.busy, int32(t.to))
			}
			s.here[t.to] = append(s.here[t.to], int32(k))
		}
	}
}

// visit steps agent i with token k and sends it on.
func (s *tokens) visit(w *worker, i agent.ID, k int) error {
	t, nd, a := &s.tokens[k], &s.nodes[i], &s.cfg.Agents[i]
	hop := s.hop(s.stream(&w.hops, i, nd.visits, k, t.steps).Float64(), i)
	w.hops.Erase()
	w.inbox = append(w.inbox[:0], agent.Message{From: t.from, To: i, Round: t.steps, Body: t.body})
	w.in = agent.Input{
		Kind:  agent.Token,
		Round: t.steps,
		View:  w.fullView(s.graph, i),
		Peer:  hop,
		Inbox: w.inbox,
	}
	if a.Gate != nil {
		a.Gate.Begin(nd.visits, nil)
	}
	if err := w.stepUntilDone(a, &nd.stats); err != nil {
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
		s.cfg.tally.sent(i, hop, agent.MessageSize(s.cfg.Dim))
	}
	return nil
}

// hop is the agent that a uniform u stands for in the row of agent i: j with probability
// w_ij, i itself with w_ii.
func (s *tokens) hop(u float64, i agent.ID) agent.ID {
	for k := range s.graph.Degree(i) {
		nb := s.graph.Neighbor(i, k)
		if u -= nb.Weight; u < 0 {
			return nb.ID
		}
	}
	return i
}
