package sim

import (
	"fmt"
	"io"

	"sotto/agent"
)

const roundsTag = "sim/2"

// WriteState writes algorithms, messages in flight and counters. Of messages that are
// lent it writes the number: their bodies are in the state of their algorithms.
func (s *rounds) WriteState(to io.Writer) error {
	return writeState(to, roundsTag, func(w *writer) {
		w.u64(s.round, uint64(len(s.peers)))
		for i := range s.peers {
			p := &s.peers[i]
			w.block(s.cfg.Agents[i].Algorithm.AppendState)
			w.u64(p.bytes, p.stats.Sent, p.stats.Dropped, p.stats.Late, p.stats.Stale, p.stats.OneSided,
				p.stats.Exhausted)
			w.u64(flag(p.lends), uint64(len(p.sent)))
			for k := range p.sent {
				if !p.lends {
					w.message(&p.sent[k])
				}
			}
			w.u64(uint64(len(p.pending)))
			for k := range p.pending {
				w.u64(p.pending[k].arrives)
				w.message(&p.pending[k].msg)
			}
		}
	})
}

// ReadState implements Runtime.
func (s *rounds) ReadState(from io.Reader) error {
	return readState(from, roundsTag, func(r *reader) error {
		round, n := r.u64(), r.u64()
		if r.err != nil {
			return r.err
		}
		if n != uint64(len(s.peers)) || round > s.cfg.Steps {
			return fmt.Errorf("%w: %d agents at round %d, this run has %d agents and %d rounds",
				agent.ErrState, n, round, len(s.peers), s.cfg.Steps)
		}
		for i := range s.peers {
			if err := s.readPeer(r, i, round); err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
		}
		s.round = round
		return nil
	})
}

func (s *rounds) readPeer(r *reader, i int, round uint64) error {
	p := &s.peers[i]
	if err := r.algorithm(&s.cfg.Agents[i]); err != nil {
		return err
	}
	t := &p.stats
	for _, v := range []*uint64{&p.bytes, &t.Sent, &t.Dropped, &t.Late, &t.Stale, &t.OneSided, &t.Exhausted} {
		*v = r.u64()
	}
	p.sent, p.next, p.pending = nil, nil, nil
	lent, count := r.u64(), r.u64()
	switch {
	case r.err == nil && lent != flag(p.lends):
		return fmt.Errorf("%w: messages are in another form", agent.ErrState)
	case p.lends && count > 0:
		p.sent = s.lent(i, round)
		if r.err == nil && uint64(len(p.sent)) != count {
			return fmt.Errorf("%w: %d messages, its algorithm sends %d", agent.ErrState, count, len(p.sent))
		}
	default:
		for k := uint64(0); k < count && r.err == nil; k++ {
			m, err := r.message()
			if err != nil {
				return err
			}
			p.sent = append(p.sent, m)
		}
	}
	for range r.u64() {
		at := r.u64()
		m, err := r.message()
		if err != nil {
			return err
		}
		p.pending = append(p.pending, late{at, m})
	}
	return r.err
}

// lent are the messages of agent i for a round, as its algorithm has lent them.
func (s *rounds) lent(i int, round uint64) []agent.Message {
	var out agent.Output
	s.cfg.Agents[i].Algorithm.(agent.Lender).Lend(&out)
	for k := range out.Outbox {
		out.Outbox[k].From, out.Outbox[k].Round = agent.ID(i), round
	}
	return out.Outbox
}
