package sim

import (
	"fmt"
	"math"

	"sotto/agent"
)

const tokensTag = "sim-token/1"

// AppendState appends tokens, algorithms and counters.
func (s *tokens) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, tokensTag)
	b = u64(b, s.tick, uint64(len(s.tokens)), uint64(len(s.nodes)))
	b = u64(b, s.waits.Absent, s.waits.Dropped)
	for k := range s.tokens {
		t := &s.tokens[k]
		b = agent.AppendVec(u64(b, uint64(t.from), uint64(t.to), t.steps), t.body)
	}
	for i := range s.nodes {
		nd := &s.nodes[i]
		b = block(b, s.cfg.Agents[i].Algorithm.AppendState)
		b = u64(b, nd.visits, nd.bytes, nd.stats.Sent, nd.stats.Exhausted, math.Float64bits(nd.stats.Vectors))
	}
	return b
}

// LoadState implements Runtime.
func (s *tokens) LoadState(b []byte) error {
	r := agent.ReadState(b, tokensTag)
	tick, tokens, n := r.Uint64(), r.Uint64(), r.Uint64()
	if err := r.Err(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	if tokens != uint64(len(s.tokens)) || n != uint64(len(s.nodes)) || tick > s.cfg.Steps {
		return fmt.Errorf("simulation checkpoint: %w: %d tokens of %d agents at tick %d, this run has %d "+
			"of %d and %d ticks",
			agent.ErrState, tokens, n, tick, len(s.tokens), len(s.nodes), s.cfg.Steps)
	}
	s.waits.Absent, s.waits.Dropped = r.Uint64(), r.Uint64()
	for k := range s.tokens {
		t := &s.tokens[k]
		from, to := r.Uint64(), r.Uint64()
		t.steps = r.Uint64()
		r.Vec(t.body)
		if r.Err() == nil && (from >= n || to >= n || t.steps > tick) {
			return fmt.Errorf("simulation checkpoint, token %d: %w: from agent %d to %d after %d steps", k,
				agent.ErrState, from, to, t.steps)
		}
		t.from, t.to = agent.ID(from), agent.ID(to)
	}
	for i := range s.nodes {
		nd := &s.nodes[i]
		if err := s.cfg.Agents[i].load(r); err != nil {
			return fmt.Errorf("simulation checkpoint, agent %d: %w", i, err)
		}
		nd.visits, nd.bytes, nd.stats.Sent, nd.stats.Exhausted = r.Uint64(), r.Uint64(), r.Uint64(),
			r.Uint64()
		nd.stats.Vectors = math.Float64frombits(r.Uint64())
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	s.tick = tick
	return nil
}
