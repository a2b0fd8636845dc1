package sim

import (
	"encoding/binary"
	"fmt"

	"sotto/agent"
)

const stateTag = "sim/1"

// AppendState appends a checkpoint taken between two rounds: algorithms, messages in
// flight, counters. Gates and ledgers are not in it; who restores a run restores those
// first.
func (s *Sim) AppendState(b []byte) []byte {
	b = agent.AppendTag(b, stateTag)
	b = u64(b, s.round, uint64(len(s.peers)))
	for i := range s.peers {
		p := &s.peers[i]
		b = block(b, s.cfg.Agents[i].Algorithm.AppendState)
		b = u64(b, p.bytes, p.stats.Sent, p.stats.Dropped, p.stats.Late, p.stats.Stale, p.stats.OneSided,
			p.stats.Exhausted)
		b = u64(b, uint64(len(p.sent)))
		for k := range p.sent {
			b = block(b, func(b []byte) []byte { return agent.AppendMessage(b, &p.sent[k]) })
		}
		b = u64(b, uint64(len(p.pending)))
		for k := range p.pending {
			b = u64(b, p.pending[k].arrives)
			b = block(b, func(b []byte) []byte { return agent.AppendMessage(b, &p.pending[k].msg) })
		}
	}
	return b
}

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// block appends what fill appends, with its length in front.
func block(b []byte, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(u64(b, 0))
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return b
}

// LoadState restores a checkpoint into a simulation built from the same Config.
func (s *Sim) LoadState(b []byte) error {
	r := agent.ReadState(b, stateTag)
	round, n := r.Uint64(), r.Uint64()
	if err := r.Err(); err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	if n != uint64(len(s.peers)) || round > s.cfg.Rounds {
		return fmt.Errorf(
			"simulation checkpoint: %w: %d agents at round %d, this run has %d agents and %d rounds",
			agent.ErrState, n, round, len(s.peers), s.cfg.Rounds)
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

func (s *Sim) loadPeer(r *agent.State, i int) error {
	p := &s.peers[i]
	if alg := r.Block(); r.Err() == nil {
		if err := s.cfg.Agents[i].Algorithm.LoadState(alg); err != nil {
			return err
		}
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

func readMessage(r *agent.State) (agent.Message, error) {
	var m agent.Message
	b := r.Block()
	if err := r.Err(); err != nil {
		return m, err
	}
	n, err := agent.DecodeMessage(b, 1<<31-1, &m)
	if err == nil && n != len(b) {
		err = fmt.Errorf("%w: %d bytes too many", agent.ErrState, len(b)-n)
	}
	return m, err
}
