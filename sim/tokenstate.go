package sim

import (
	"fmt"
	"io"
	"math"

	"sotto/agent"
)

const tokensTag = "sim-token/1"

// WriteState writes tokens, algorithms and counters.
func (s *tokens) WriteState(to io.Writer) error {
	return writeState(to, tokensTag, func(w *writer) {
		w.u64(s.tick, uint64(len(s.tokens)), uint64(len(s.nodes)))
		w.u64(s.waits.Absent, s.waits.Dropped)
		for k := range s.tokens {
			t := &s.tokens[k]
			w.u64(uint64(t.from), uint64(t.to), t.steps)
			w.vec(t.body)
		}
		for i := range s.nodes {
			nd := &s.nodes[i]
			w.block(s.cfg.Agents[i].Algorithm.AppendState)
			w.u64(nd.visits, nd.bytes, nd.stats.Sent, nd.stats.Exhausted, math.Float64bits(nd.stats.Vectors))
		}
	})
}

// ReadState implements Runtime.
func (s *tokens) ReadState(from io.Reader) error {
	return readState(from, tokensTag, func(r *reader) error {
		tick, tokens, n := r.u64(), r.u64(), r.u64()
		if r.err != nil {
			return r.err
		}
		if tokens != uint64(len(s.tokens)) || n != uint64(len(s.nodes)) || tick > s.cfg.Steps {
			return fmt.Errorf("%w: %d tokens of %d agents at tick %d, this run has %d of %d and %d ticks",
				agent.ErrState, tokens, n, tick, len(s.tokens), len(s.nodes), s.cfg.Steps)
		}
		s.waits.Absent, s.waits.Dropped = r.u64(), r.u64()
		for k := range s.tokens {
			t := &s.tokens[k]
			from, to := r.u64(), r.u64()
			t.steps = r.u64()
			r.vec(t.body)
			if r.err == nil && (from >= n || to >= n || t.steps > tick) {
				return fmt.Errorf("token %d: %w: from agent %d to %d after %d steps", k, agent.ErrState,
					from, to, t.steps)
			}
			t.from, t.to = agent.ID(from), agent.ID(to)
		}
		for i := range s.nodes {
			nd := &s.nodes[i]
			if err := r.algorithm(&s.cfg.Agents[i]); err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
			nd.visits, nd.bytes, nd.stats.Sent, nd.stats.Exhausted = r.u64(), r.u64(), r.u64(), r.u64()
			nd.stats.Vectors = r.float()
		}
		s.tick = tick
		return nil
	})
}
