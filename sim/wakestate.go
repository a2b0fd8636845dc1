package sim

import (
	"fmt"
	"math"

	"sotto/agent"
)

const wakesTag = "sim-async/1"

// AppendState appends the clock, algorithms, broadcasts that are still of use, and
// counters.
func (s *wakes) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, wakesTag)
	b = u64(b, s.clock.number, math.Float64bits(s.clock.now), uint64(len(s.nodes)))
	for i := range s.nodes {
		nd := &s.nodes[i]
		b = block(b, s.cfg.Agents[i].Algorithm.AppendState)
		b = u64(b, nd.seq, nd.wakes, nd.bytes, flag(nd.done), flag(nd.joined),
			math.Float64bits(nd.stats.Vectors))
		for _, c := range nd.stats.counters() {
			b = u64(b, *c)
		}
		if s.counts != nil && nd.seq > 0 {
			b = agent.AppendVec(b, s.body(agent.ID(i)))
		}
		b = u64(b, uint64(len(nd.sent)))
		for k := range nd.sent {
			p := &nd.sent[k]
			b = u64(b, p.seq, math.Float64bits(p.time))
			b = appendMessage(b, &p.msg)
		}
	}
	return b
}

// counters are the counts that asynchronous runs keep.
func (s *Stats) counters() []*uint64 {
	return []*uint64{&s.Sent, &s.Dropped, &s.Exhausted, &s.Idle, &s.Absent}
}

// LoadState implements Runtime.
func (s *wakes) LoadState(b []byte) error {
	r := agent.ReadState(b, wakesTag)
	number, now, n := r.Uint64(), math.Float64frombits(r.Uint64()), r.Uint64()
	if err := r.Err(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	if n != uint64(len(s.nodes)) || number > s.cfg.Steps || !(now >= 0) {
		return fmt.Errorf(
			"simulation checkpoint: %w: %d agents at wake %d, this run has %d agents and %d wakes",
			agent.ErrState, n, number, len(s.nodes), s.cfg.Steps)
	}
	for i := range s.nodes {
		if err := s.loadNode(r, i); err != nil {
			return fmt.Errorf("simulation checkpoint, agent %d: %w", i, err)
		}
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	s.clock.number, s.clock.now = number, now
	return nil
}

func (s *wakes) loadNode(r *agent.State, i int) error {
	nd := &s.nodes[i]
	if err := s.cfg.Agents[i].load(r); err != nil {
		return err
	}
	nd.seq, nd.wakes, nd.bytes = r.Uint64(), r.Uint64(), r.Uint64()
	nd.done, nd.joined = r.Uint64() == 1, r.Uint64() == 1
	nd.stats.Vectors = math.Float64frombits(r.Uint64())
	for _, c := range nd.stats.counters() {
		*c = r.Uint64()
	}
	if s.counts != nil {
		if nd.seq > math.MaxUint32 {
			return fmt.Errorf("%w: %d broadcasts", agent.ErrState, nd.seq)
		}
		if s.counts[i] = uint32(nd.seq); nd.seq > 0 {
			r.Vec(s.body(agent.ID(i)))
		}
	}
	nd.sent = nd.sent[:0]
	for range r.Uint64() {
		if r.Err() != nil {
			break
		}
		p := posted{seq: r.Uint64(), time: math.Float64frombits(r.Uint64())}
		var err error
		if p.msg, err = readMessage(r); err != nil {
			return err
		}
		nd.sent = append(nd.sent, p)
	}
	return r.Err()
}
