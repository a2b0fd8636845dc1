package sim

import (
	"fmt"

	"sotto/agent"
)

const roundsTag = "sim/1"

// AppendState appends algorithms, messages in flight and counters.
func (s *rounds) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, roundsTag)
	b = u64(b, s.round, uint64(len(s.peers)))
	for i := range s.peers {
		p := &s.peers[i]
		b = block(b, s.cfg.Agents[i].Algorithm.AppendState)
		b = u64(b, p.bytes, p.stats.Sent, p.stats.Dropped, p.stats.Late, p.stats.Stale, p.stats.OneSided,
			p.stats.Exhausted)
		b = u64(b, uint64(len(p.sent)))
		for k := range p.sent {
			b = appendMessage(b, &p.sent[k])
		}
		b = u64(b, uint64(len(p.pending)))
		for k := range p.pending {
			b = u64(b, p.pending[k].arrives)
			b = appendMessage(b, &p.pending[k].msg)
		}
	}
	return b
}

// LoadState implements Runtime.
func (s *rounds) LoadState(b []byte) error {
	r := agent.ReadState(b, roundsTag)
	round, n := r.Uint64(), r.Uint64()
	if err := r.Err(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	if n != uint64(len(s.peers)) || round > s.cfg.Steps {
		return fmt.Errorf(
			"simulation checkpoint: %w: %d agents at round %d, this run has %d agents and %d rounds",
			agent.ErrState, n, round, len(s.peers), s.cfg.Steps)
	}
	for i := range s.peers {
		if err := s.loadPeer(r, i); err != nil {
			return fmt.Errorf("simulation checkpoint, agent %d: %w", i, err)
		}
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	s.round = round
	return nil
}

func (s *rounds) loadPeer(r *agent.State, i int) error {
	p := &s.peers[i]
	if err := s.cfg.Agents[i].load(r); err != nil {
		return err
	}
	t := &p.stats
	for _, v := range []*uint64{&p.bytes, &t.Sent, &t.Dropped, &t.Late, &t.Stale, &t.OneSided, &t.Exhausted} {
		*v = r.Uint64()
	}
	p.sent, p.pending = nil, nil
	for range r.Uint64() {
		if r.Err() != nil {
			break
		}
		m, err := readMessage(r)
		if err != nil {
			return err
		}
		p.sent = append(p.sent, m)
	}
	for range r.Uint64() {
		if r.Err() != nil {
			break
		}
		at := r.Uint64()
		m, err := readMessage(r)
		if err != nil {
			return err
		}
		p.pending = append(p.pending, late{at, m})
	}
	return r.Err()
}
