package node

import (
	"encoding/binary"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/tensor"
)

// maxTokens bounds Config.Holders.
const maxTokens = 1 << 20

// checkHolders refuses what tokens cannot walk on.
func (c *Config) checkHolders() error {
	switch {
	case c.Holders == nil:
		return nil
	case len(c.Holders) > maxTokens:
		return config.Bad("holders", len(c.Holders), fmt.Sprintf("at most %d tokens", maxTokens))
	case c.Missing == Proceed:
		return config.Bad("missing", c.Missing, "wait, with tokens: each is with one member only")
	case c.byWakes() || c.changing() || c.Mass || c.BF16:
		return config.Bad("holders", len(c.Holders),
			"no tokens with wakes, clocks, graphs that change, masses or bfloat16 values")
	case c.oneWay():
		return config.Bad("graph", c.Graph.Name(), "links in both directions, with tokens")
	}
	for k, i := range c.Holders {
		if int(i) >= c.Graph.Agents() {
			return config.Bad(fmt.Sprintf("holders[%d]", k), i, fmt.Sprintf("0 to %d", c.Graph.Agents()-1))
		}
	}
	return nil
}

// take takes in a token, or the word that one of this node's is taken.
func (p *visits) take(l *link, f *frame.Frame) error {
	if f.Kind != frame.Token && f.Kind != frame.Taken {
		return otherPace(f)
	}
	n := p.n
	count := uint64(len(p.seen))
	h := hop{from: f.Sender, to: n.cfg.Self, token: int(f.Round % count), steps: f.Round / count}
	if h.steps == 0 || h.steps > p.steps {
		return fmt.Errorf("%w: %w: a token of %d steps, allowed: 1 to %d", RefusedFrame,
			frame.ErrMalformed, h.steps, p.steps)
	}
	if f.Kind == frame.Taken {
		n.mu.Lock()
		defer n.mu.Unlock()
		l.shows(n, 0)
		p.forget(func(o *hop) bool { return o.to == l.id && p.number(o) == f.Round })
		return nil
	}
	msgs, err := frame.DecodeMessages(nil, f, n.cfg.Self, n.limits.values)
	if err == nil && (len(msgs) != 1 || len(msgs[0].Body) != n.cfg.Dim) {
		err = fmt.Errorf("%w: %d messages, allowed: one of %d values", frame.ErrMalformed, len(msgs),
			n.cfg.Dim)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	h.body = msgs[0].Body
	n.mu.Lock()
	defer n.mu.Unlock()
	l.shows(n, h.steps)
	if g := p.guest; g != nil && g.token == h.token && g.steps >= h.steps {
		n.check.Counts.Replayed++ // it will be thanked for when it is stored
		return nil
	}
	taken := h.steps < p.seen[h.token]
	if h.steps == p.steps {
		taken = p.final[h.token] != nil
	}
	if taken {
		n.check.Counts.Stale++
		p.thank(l, f.Round)
		return nil
	}
	at := slices.IndexFunc(p.came, func(o hop) bool { return o.token == h.token })
	switch {
	case at < 0:
		p.came = append(p.came, h)
	case p.came[at].steps < h.steps:
		p.came[at] = h
	default:
		n.check.Counts.Replayed++
	}
	n.signal()
	return nil
}

// release forgets what a neighbor that has finished does not need any more. Node.mu is
// held.
func (p *visits) release(l *link) {
	p.out = slices.DeleteFunc(p.out, func(o hop) bool { return o.to == l.id })
	l.drop(frame.Token)
	l.drop(frame.Taken)
}

// Tokens returns the final tokens, by number; nil for those that still walk, and for all
// where models do not walk. They are not to be changed.
func (n *Node) Tokens() []tensor.Vec {
	p, ok := n.pace.(*visits)
	if !ok {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(p.final)
}

const tokensTag = "sotto node tokens/1"

// encode writes what is known of the tokens: what has been seen, final ones, and those on
// their way.
func (p *visits) encode(self agent.ID) []byte {
	b := u64(agent.AppendTag(nil, tokensTag), uint64(len(p.seen)))
	for k, v := range p.final {
		if b = u64(b, p.seen[k], flag(v != nil)); v != nil {
			b = agent.AppendVec(b, v)
		}
	}
	b = u64(b, uint64(len(p.out)))
	for i := range p.out {
		h := &p.out[i]
		if b = u64(b, uint64(h.to), p.number(h)); h.steps < p.steps {
			b = agent.AppendVec(b, h.body)
		}
	}
	return b
}

// decode reads what encode writes, of a run of the same tokens and dimension.
func (p *visits) decode(b []byte, self agent.ID, agents, dim int) error {
	s := agent.ReadState(b, tokensTag)
	count := uint64(len(p.seen))
	if c := s.Uint64(); c != count {
		return fmt.Errorf("%w: %d tokens, allowed: %d", checkpoint.ErrState, c, count)
	}
	read := func() tensor.Vec {
		v := make(tensor.Vec, dim)
		s.Vec(v)
		return v
	}
	for k := range p.seen {
		p.seen[k] = s.Uint64()
		if s.Uint64() == 1 {
			p.final[k] = read()
		}
	}
	left := s.Uint64()
	if most := count * uint64(agents); left > most {
		return fmt.Errorf("%w: %d tokens on their way, allowed: at most %d", checkpoint.ErrState, left, most)
	}
	for range left {
		to, number := s.Uint64(), s.Uint64()
		h := hop{from: self, to: agent.ID(to), token: int(number % count), steps: number / count}
		switch {
		case to >= uint64(agents) || h.steps > p.steps:
			return fmt.Errorf("%w: a token of %d steps for agent %d", checkpoint.ErrState, h.steps, to)
		case h.steps < p.steps:
			h.body = read()
		case p.final[h.token] == nil:
			return fmt.Errorf("%w: token %d is final and missing", checkpoint.ErrState, h.token)
		default:
			h.body = p.final[h.token]
		}
		p.out = append(p.out, h)
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrState, err)
	}
	return nil
}

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
