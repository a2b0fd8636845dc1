package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// Tokens walk between nodes. Who holds one steps with it, draws the next holder from its
// row of the mixing matrix, and stores its state with the token before it sends it. The
// next holder says that it has taken a token when what came of its own visit is stored,
// and until then the sender keeps the token and sends it again after either end was
// started anew; a visit that is stored is not repeated, because a token that has moved on
// is known by its number of steps. So every token makes each of its steps once, whatever
// crashes, but for charges of visits that were not stored, which are lost.
//
// A token that has made all its steps is final: its holder sends it to all neighbors, and
// each passes it on. A node has finished when it knows all final tokens. Hops are secret:
// nobody but the two ends of a hop sees it.

// maxTokens bounds Config.Holders.
const maxTokens = 1 << 20

// walks is what a node of a run of tokens keeps. Node.mu guards it.
type walks struct {
	steps uint64
	seen  []uint64     // by token: arrivals of fewer steps have been taken
	final []tensor.Vec // by token; nil: it still walks, as far as is known
	// not known to be taken, in order of their sending; with the node itself as the
	// receiver: held
	out   []hop
	came  []hop // at most one of each token
	guest *hop  // the one that is being taken in
}

// hop is a token between two visits.
type hop struct {
	from, to agent.ID
	token    int
	steps    uint64 // that it has made
	body     tensor.Vec
	sent     bool // it has been queued since the receiver said hello
}

func newWalks(cfg *Config) *walks {
	return &walks{steps: cfg.Rounds, seen: make([]uint64, len(cfg.Holders)),
		final: make([]tensor.Vec, len(cfg.Holders))}
}

// number is the round of a frame for a token.
func (w *walks) number(h *hop) uint64 { return h.steps*uint64(len(w.seen)) + uint64(h.token) }

// done reports whether all tokens are final.
func (w *walks) done() bool {
	return !slices.ContainsFunc(w.final, func(v tensor.Vec) bool { return v == nil })
}

// checkHolders refuses what tokens cannot walk on.
func (c *Config) checkHolders() error {
	switch {
	case c.Holders == nil:
		return nil
	case len(c.Holders) > maxTokens:
		return config.Bad("holders", len(c.Holders), fmt.Sprintf("at most %d tokens", maxTokens))
	case c.Wakes != nil || c.Interval > 0 || c.Graphs != nil || c.Mass || c.BF16 || c.Missing == Proceed:
		return config.Bad("holders", len(c.Holders),
			"no tokens with wakes, clocks, graphs that change, masses, bfloat16 values or missing proceed")
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

// begin stores the tokens that start here.
func (n *Node) begin() error {
	for k, i := range n.cfg.Holders {
		if i == n.cfg.Self {
			n.walks.out = append(n.walks.out,
				hop{from: i, to: i, token: k, body: slices.Clone(n.cfg.Algorithm.Params())})
		}
	}
	return n.keepTokens(0, nil)
}

// visit waits for a token and steps with it, or takes in a final one.
func (n *Node) visit(ctx context.Context) error {
	h, err := n.arrival(ctx)
	if err != nil {
		return err
	}
	report := RoundReport{Round: n.check.Round}
	visits := n.check.Round
	if h.steps == n.walks.steps {
		n.pass(&h)
	} else {
		if err := n.host(&h, &report); err != nil {
			return fmt.Errorf("token %d, step %d: %w", h.token, h.steps, err)
		}
		visits++
	}
	if err := n.keepTokens(visits, &h); err != nil {
		return err
	}
	if n.cfg.OnRound != nil && visits > report.Round {
		n.cfg.OnRound(report)
	}
	return nil
}

// arrival waits for the next token, one that is held first. A held one stays in out until
// its visit is stored.
func (n *Node) arrival(ctx context.Context) (hop, error) {
	for {
		if err := ctx.Err(); err != nil {
			return hop{}, err
		}
		n.mu.Lock()
		w := n.walks
		if i := slices.IndexFunc(w.out, func(h hop) bool { return h.to == n.cfg.Self }); i >= 0 {
			h := w.out[i]
			n.mu.Unlock()
			return h, nil
		}
		if len(w.came) > 0 {
			h := w.came[0]
			w.came, w.guest = slices.Delete(w.came, 0, 1), &h
			n.mu.Unlock()
			return h, nil
		}
		n.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-n.events:
		}
	}
}

// host steps with a token and sends it on.
func (n *Node) host(h *hop, report *RoundReport) error {
	g, i := n.cfg.Graph, n.cfg.Self
	next := n.draw(n.uniform(h))
	n.cfg.Gate.Begin(n.check.Round, nil)
	n.in = agent.Input{
		Kind:  agent.Token,
		Round: h.steps,
		View:  &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)},
		Peer:  next,
		Inbox: []agent.Message{{From: h.from, To: i, Round: h.steps, Body: h.body}},
	}
	if err := n.settle(report); err != nil {
		return err
	}
	if out := n.out.Outbox; len(out) != 1 || out[0].To != next || len(out[0].Body) != n.cfg.Dim ||
		!out[0].Body.Finite() {
		return fmt.Errorf("%d messages after a visit, which needs one of %d finite values to agent %d",
			len(out), n.cfg.Dim, next)
	}
	sent := hop{
		from:  i,
		to:    next,
		token: h.token,
		steps: h.steps + 1,
		body:  slices.Clone(n.out.Outbox[0].Body),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.walks
	w.release(h, i)
	w.seen[h.token] = sent.steps
	if sent.steps == w.steps {
		n.announce(&sent)
		return nil
	}
	w.out = append(w.out, sent)
	return nil
}

// pass takes in a final token and passes it on.
func (n *Node) pass(h *hop) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.walks.final[h.token] == nil {
		n.announce(h)
	}
}

// announce makes a token final here and sends it to all neighbors but the one it came
// from. Node.mu is held.
func (n *Node) announce(h *hop) {
	w := n.walks
	w.final[h.token], w.seen[h.token] = h.body, w.steps
	for _, l := range n.order {
		if l.id != h.from && !l.finished {
			w.out = append(w.out, hop{from: n.cfg.Self, to: l.id, token: h.token, steps: w.steps,
				body: h.body})
		}
	}
}

// release forgets a held token whose visit is over.
func (w *walks) release(h *hop, self agent.ID) {
	w.out = slices.DeleteFunc(w.out, func(o hop) bool {
		return o.to == self && o.token == h.token && o.steps == h.steps
	})
}

// uniform is the number in [0, 1) that says where a token goes.
func (n *Node) uniform(h *hop) float64 {
	if n.cfg.Hop != nil {
		return n.cfg.Hop(n.check.Round)
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// draw is the holder that u stands for: a neighbor with the probability of its weight in
// this node's row, else the node itself.
func (n *Node) draw(u float64) agent.ID {
	for _, nb := range n.cfg.Graph.In(n.cfg.Self) {
		if u -= nb.Weight; u < 0 {
			return nb.ID
		}
	}
	return n.cfg.Self
}

// keepTokens stores state and tokens after so many visits, the last of them, if any, that
// of h, and then sends what is to be sent.
func (n *Node) keepTokens(visits uint64, h *hop) error {
	n.mu.Lock()
	c := n.check
	w := n.walks
	c.Round, c.Finished, c.Outbox = visits, w.done(), w.encode(n.cfg.Self)
	n.mu.Unlock()
	if _, err := n.save(&c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c.Counts = n.check.Counts // handlers count on
	n.check, w.guest = c, nil
	if h != nil && h.from != n.cfg.Self {
		n.thank(n.links[h.from], w.number(h))
	}
	for _, l := range n.order {
		n.hand(l, false)
		if c.Finished {
			l.push(n.parcel(Finished, c.Round, c.Claim))
		}
	}
	return nil
}

// hand queues the tokens on their way to a neighbor, also those that were queued before
// if again. Node.mu is held.
func (n *Node) hand(l *link, again bool) {
	for i := range n.walks.out {
		h := &n.walks.out[i]
		if h.to != l.id || l.finished || h.sent && !again {
			continue
		}
		h.sent = true
		number := n.walks.number(h)
		l.push(n.parcel(Token, number, agent.AppendMessage(nil,
			&agent.Message{From: n.cfg.Self, To: h.to, Round: number, Body: h.body})))
	}
}

// thank tells a neighbor that its token is taken. Node.mu is held.
func (n *Node) thank(l *link, number uint64) { l.push(n.parcel(Taken, number, nil)) }

// token is the handler of frames of tokens.
func (n *Node) token(l *link, f *Frame) error {
	w := n.walks
	count := uint64(len(w.seen))
	h := hop{from: f.Sender, to: n.cfg.Self, token: int(f.Round % count), steps: f.Round / count}
	if h.steps == 0 || h.steps > w.steps {
		return fmt.Errorf("%w: %w: a token of %d steps, allowed: 1 to %d", RefusedFrame, ErrFrame, h.steps,
			w.steps)
	}
	if f.Kind == Taken {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.there(l)
		w.out = slices.DeleteFunc(w.out, func(o hop) bool { return o.to == l.id && w.number(&o) == f.Round })
		return nil
	}
	msgs, err := decodeMessages(nil, f, n.cfg.Self, n.maxValues)
	if err == nil && (len(msgs) != 1 || len(msgs[0].Body) != n.cfg.Dim) {
		err = fmt.Errorf("%w: %d messages, allowed: one of %d values", ErrFrame, len(msgs), n.cfg.Dim)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	h.body = msgs[0].Body
	n.mu.Lock()
	defer n.mu.Unlock()
	n.there(l)
	l.round = max(l.round, h.steps)
	taken := h.steps < w.seen[h.token]
	if h.steps == w.steps {
		taken = w.final[h.token] != nil
	}
	if taken {
		n.check.Counts.Stale++
		n.thank(l, f.Round)
		return nil
	}
	at := slices.IndexFunc(w.came, func(o hop) bool { return o.token == h.token })
	switch {
	case w.guest != nil && w.guest.token == h.token && w.guest.steps >= h.steps:
		n.check.Counts.Replayed++ // it will be thanked for when it is stored
	case at < 0:
		w.came = append(w.came, h)
	case w.came[at].steps < h.steps:
		w.came[at] = h
	default:
		n.check.Counts.Replayed++
	}
	n.signal()
	return nil
}

// there notes a sign of life that is no hello. Node.mu is held.
func (n *Node) there(l *link) {
	l.heard(n)
	l.absent, l.last = false, time.Now()
}

// leave forgets what a neighbor that has finished does not need any more. Node.mu is
// held.
func (w *walks) leave(l *link) {
	w.out = slices.DeleteFunc(w.out, func(o hop) bool { return o.to == l.id })
	l.drop(Token)
	l.drop(Taken)
}

// Tokens returns the final tokens, by number; nil for those that still walk, and for all
// where models do not walk. They are not to be changed.
func (n *Node) Tokens() []tensor.Vec {
	if n.walks == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.walks.final)
}

const walksTag = "sotto node tokens/1"

// encode writes what is known of the tokens: what has been seen, final ones, and those on
// their way.
func (w *walks) encode(self agent.ID) []byte {
	b := u64(agent.AppendTag(nil, walksTag), uint64(len(w.seen)))
	for k, v := range w.final {
		if b = u64(b, w.seen[k], flag(v != nil)); v != nil {
			b = agent.AppendVec(b, v)
		}
	}
	b = u64(b, uint64(len(w.out)))
	for i := range w.out {
		h := &w.out[i]
		if b = u64(b, uint64(h.to), w.number(h)); h.steps < w.steps {
			b = agent.AppendVec(b, h.body)
		}
	}
	return b
}

// decode reads what encode writes, of a run of the same tokens and dimension.
func (w *walks) decode(b []byte, self agent.ID, agents, dim int) error {
	s := agent.ReadState(b, walksTag)
	count := uint64(len(w.seen))
	if c := s.Uint64(); c != count {
		return fmt.Errorf("%w: %d tokens, allowed: %d", ErrState, c, count)
	}
	read := func() tensor.Vec {
		v := make(tensor.Vec, dim)
		s.Vec(v)
		return v
	}
	for k := range w.seen {
		w.seen[k] = s.Uint64()
		if s.Uint64() == 1 {
			w.final[k] = read()
		}
	}
	left := s.Uint64()
	if most := count * uint64(agents); left > most {
		return fmt.Errorf("%w: %d tokens on their way, allowed: at most %d", ErrState, left, most)
	}
	for range left {
		to, number := s.Uint64(), s.Uint64()
		h := hop{from: self, to: agent.ID(to), token: int(number % count), steps: number / count}
		switch {
		case to >= uint64(agents) || h.steps > w.steps:
			return fmt.Errorf("%w: a token of %d steps for agent %d", ErrState, h.steps, to)
		case h.steps < w.steps:
			h.body = read()
		case w.final[h.token] == nil:
			return fmt.Errorf("%w: token %d is final and missing", ErrState, h.token)
		default:
			h.body = w.final[h.token]
		}
		w.out = append(w.out, h)
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}
