package sim

import (
	"fmt"
	"io"
	"math"

	"sotto/agent"
)

const wakesTag = "sim-async/1"

// WriteState writes the clock, algorithms, broadcasts that are still of use, and
// counters.
func (s *wakes) WriteState(to io.Writer) error {
	return writeState(to, wakesTag, func(w *writer) {
		w.u64(s.clock.number, math.Float64bits(s.clock.now), uint64(len(s.nodes)))
		for i := range s.nodes {
			nd := &s.nodes[i]
			w.block(s.cfg.Agents[i].Algorithm.AppendState)
			w.u64(nd.seq, nd.wakes, nd.bytes, flag(nd.done), flag(nd.joined),
				math.Float64bits(nd.stats.Vectors))
			for _, c := range nd.stats.counters() {
				w.u64(*c)
			}
			if s.counts != nil && nd.seq > 0 {
				w.vec(s.body(agent.ID(i)))
			}
			w.u64(uint64(len(nd.sent)))
			for k := range nd.sent {
				p := &nd.sent[k]
				w.u64(p.seq, math.Float64bits(p.time))
				w.message(&p.msg)
			}
		}
	})
}

// counters are the counts that asynchronous runs keep.
func (s *Stats) counters() []*uint64 {
	return []*uint64{&s.Sent, &s.Dropped, &s.Exhausted, &s.Idle, &s.Absent}
}

// ReadState implements Runtime.
func (s *wakes) ReadState(from io.Reader) error {
	return readState(from, wakesTag, func(r *reader) error {
		number, now, n := r.u64(), r.float(), r.u64()
		if r.err != nil {
			return r.err
		}
		if n != uint64(len(s.nodes)) || number > s.cfg.Steps || !(now >= 0) {
			return fmt.Errorf("%w: %d agents at wake %d, this run has %d agents and %d wakes",
				agent.ErrState, n, number, len(s.nodes), s.cfg.Steps)
		}
		for i := range s.nodes {
			if err := s.readNode(r, i); err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
		}
		s.clock.number, s.clock.now = number, now
		return nil
	})
}

func (s *wakes) readNode(r *reader, i int) error {
	nd := &s.nodes[i]
	if err := r.algorithm(&s.cfg.Agents[i]); err != nil {
		return err
	}
	nd.seq, nd.wakes, nd.bytes = r.u64(), r.u64(), r.u64()
	nd.done, nd.joined = r.u64() == 1, r.u64() == 1
	nd.stats.Vectors = r.float()
	for _, c := range nd.stats.counters() {
		*c = r.u64()
	}
	if s.counts != nil {
		if nd.seq > math.MaxUint32 {
			return fmt.Errorf("%w: %d broadcasts", agent.ErrState, nd.seq)
		}
		if s.counts[i] = uint32(nd.seq); nd.seq > 0 {
			r.vec(s.body(agent.ID(i)))
		}
	}
	nd.sent = nd.sent[:0]
	for range r.u64() {
		p := posted{seq: r.u64(), time: r.float()}
		var err error
		if p.msg, err = r.message(); err != nil {
			return err
		}
		nd.sent = append(nd.sent, p)
	}
	return r.err
}
