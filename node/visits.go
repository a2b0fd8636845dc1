package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/tensor"
)

// Tokens walk between nodes. Who holds one steps with it, draws the next holder from its
// row of the mixing matrix, and stores its state with the token before it sends it. The
// next holder says that it has taken a token when what came of its own visit is stored,
// and until then, or until the token is back, the sender keeps it, and sends it again
// after either end was started anew; a visit that is stored is not repeated, because a
// token that has moved on is known by its number of steps. So every token makes each of
// its steps once, whatever crashes, but for charges of visits that were not stored, which
// are lost.
//
// A token that has made all its steps is final: its holder sends it to all neighbors, and
// each passes it on. A node has finished when it knows all final tokens. Hops are secret:
// nobody but the two ends of a hop sees it.

// visits drives a node by the tokens that it is sent: each of them is a step. Node.mu
// guards all of it.
type visits struct {
	n     *Node
	steps uint64       // that every token makes
	seen  []uint64     // by token: arrivals of fewer steps have been taken
	final []tensor.Vec // by token; nil: it still walks, as far as is known
	// not known to be taken, in order of their sending; with the node itself as the
	// receiver: held
	out   []hop
	came  []hop // at most one of each token
	guest *hop  // the one that is being taken in
}

var _ pacer = (*visits)(nil)

// hop is a token between two visits.
type hop struct {
	from, to agent.ID
	token    int
	steps    uint64 // that it has made
	body     tensor.Vec
	sent     bool // it has been queued since the receiver said hello
}

func newVisits(n *Node) *visits {
	tokens := len(n.cfg.Holders)
	return &visits{n: n, steps: n.cfg.Rounds, seen: make([]uint64, tokens), final: make([]tensor.Vec, tokens)}
}

// number is the round of a frame for a token.
func (p *visits) number(h *hop) uint64 { return h.steps*uint64(len(p.seen)) + uint64(h.token) }

// done reports whether all tokens are final.
func (p *visits) done() bool {
	return !slices.ContainsFunc(p.final, func(v tensor.Vec) bool { return v == nil })
}

// start stores the tokens that start here.
func (p *visits) start() error {
	n := p.n
	n.in = agent.Input{Kind: agent.Start, View: n.row(n.cfg.Graph)}
	var r RoundReport
	if err := n.step(&r, true); err != nil {
		return err
	}
	for k, i := range n.cfg.Holders {
		if i == n.cfg.Self {
			p.out = append(p.out, hop{from: i, to: i, token: k, body: slices.Clone(n.cfg.Algorithm.Params())})
		}
	}
	return p.keep(0, nil)
}

func (p *visits) attend() (bool, error) { return false, nil }
func (p *visits) waits() bool           { return true }

// Nobody knows how many visits a node will have.
func (p *visits) counts() (unit string, total uint64, known bool) { return InVisits, 0, false }

func (p *visits) resend(l *link, _ bool) {
	p.hand(l, true)
	l.finish(p.n)
}

// resume takes over the tokens of a checkpoint, which are made anew for the next one.
func (p *visits) resume(c *checkpoint.Checkpoint) error {
	p.n.check.Outbox = nil
	return p.decode(c.Outbox, c.Self, p.n.cfg.Graph.Agents(), p.n.cfg.Dim)
}

// next waits for a token and steps with it, or takes in a final one.
func (p *visits) next(ctx context.Context) error {
	n := p.n
	h, err := p.arrival(ctx)
	if err != nil {
		return err
	}
	report := RoundReport{Round: n.check.Round}
	visits := n.check.Round
	if h.steps == p.steps {
		p.pass(&h)
	} else {
		if err := p.host(&h, &report); err != nil {
			return fmt.Errorf("token %d, step %d: %w", h.token, h.steps, err)
		}
		visits++
	}
	if err := p.keep(visits, &h); err != nil {
		return err
	}
	if visits > report.Round {
		n.report(&report)
	}
	return nil
}

// arrival waits for the next token, one that is held first. A held one stays in out until
// its visit is stored.
func (p *visits) arrival(ctx context.Context) (hop, error) {
	n := p.n
	for {
		if err := ctx.Err(); err != nil {
			return hop{}, err
		}
		n.mu.Lock()
		if i := slices.IndexFunc(p.out, func(h hop) bool { return h.to == n.cfg.Self }); i >= 0 {
			h := p.out[i]
			n.mu.Unlock()
			return h, nil
		}
		if len(p.came) > 0 {
			h := p.came[0]
			p.came, p.guest = slices.Delete(p.came, 0, 1), &h
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
func (p *visits) host(h *hop, report *RoundReport) error {
	n := p.n
	i, next := n.cfg.Self, p.draw(p.uniform())
	n.cfg.Gate.Begin(n.check.Round, nil)
	n.in = agent.Input{Kind: agent.Token, Round: h.steps, View: n.row(n.cfg.Graph), Peer: next,
		Inbox: []agent.Message{{From: h.from, To: i, Round: h.steps, Body: h.body}}}
	// who holds a token asks for noise alone from when the budget is spent
	if err := n.step(report, true); err != nil {
		return err
	}
	if out := n.out.Outbox; len(out) != 1 || out[0].To != next || len(out[0].Body) != n.cfg.Dim ||
		!out[0].Body.Finite() {
		return fmt.Errorf("%w: %d messages after a visit, which needs one of %d finite values to agent %d",
			ErrDiverged, len(out), n.cfg.Dim, next)
	}
	sent := hop{from: i, to: next, token: h.token, steps: h.steps + 1,
		body: slices.Clone(n.out.Outbox[0].Body)}
	n.mu.Lock()
	defer n.mu.Unlock()
	p.seen[h.token] = sent.steps
	p.overtaken(h)
	if sent.steps == p.steps {
		p.announce(&sent)
		return nil
	}
	p.out = append(p.out, sent)
	return nil
}

// pass takes in a final token and passes it on.
func (p *visits) pass(h *hop) {
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.final[h.token] == nil {
		p.overtaken(h)
		p.announce(h)
	}
}

// announce makes a token final here and sends it to all neighbors but the one it came
// from. Node.mu is held.
func (p *visits) announce(h *hop) {
	n := p.n
	p.final[h.token], p.seen[h.token] = h.body, p.steps
	for _, l := range n.order {
		if l.id != h.from && !l.finished {
			p.out = append(p.out, hop{from: n.cfg.Self, to: l.id, token: h.token, steps: p.steps,
				body: h.body})
		}
	}
}

// overtaken forgets the hops of a token that has come back: they were taken, else it
// could not have come. Node.mu is held.
func (p *visits) overtaken(h *hop) {
	p.forget(func(o *hop) bool { return o.token == h.token && o.steps <= h.steps })
}

// forget takes out hops that are over. Node.mu is held.
func (p *visits) forget(over func(o *hop) bool) {
	p.out = slices.DeleteFunc(p.out, func(o hop) bool {
		if l := p.n.links[o.to]; l != nil && over(&o) {
			l.unqueue(func(q queued) bool { return q.kind == frame.Token && q.round == p.number(&o) })
		}
		return over(&o)
	})
}

// uniform is the number in [0, 1) that says where a token goes.
func (p *visits) uniform() float64 {
	if hop := p.n.cfg.Hop; hop != nil {
		return hop(p.n.check.Round)
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// draw is the holder that u stands for: a neighbor with the probability of its weight in
// this node's row, else the node itself.
func (p *visits) draw(u float64) agent.ID {
	n := p.n
	for _, nb := range n.cfg.Graph.In(n.cfg.Self) {
		if u -= nb.Weight; u < 0 {
			return nb.ID
		}
	}
	return n.cfg.Self
}

// keep stores state and tokens after so many visits, the last of them, if any, that
// of h, and then sends what is to be sent.
func (p *visits) keep(visits uint64, h *hop) error {
	n := p.n
	n.mu.Lock()
	c := n.check
	c.Round, c.Finished, c.Outbox = visits, p.done(), p.encode(n.cfg.Self)
	n.mu.Unlock()
	if _, err := n.save(&c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current(&c)
	p.guest = nil
	if h != nil && h.from != n.cfg.Self {
		p.thank(n.links[h.from], p.number(h))
	}
	for _, l := range n.order {
		p.hand(l, false)
		l.finish(n)
	}
	return nil
}

// hand queues the tokens on their way to a neighbor, also those that were queued before
// if again. Node.mu is held.
func (p *visits) hand(l *link, resend bool) {
	n := p.n
	for i := range p.out {
		h := &p.out[i]
		if h.to != l.id || l.finished || h.sent && !resend {
			continue
		}
		h.sent = true
		number := p.number(h)
		l.push(n.frame(frame.Token, number, agent.AppendMessage(nil,
			&agent.Message{From: n.cfg.Self, To: h.to, Round: number, Body: h.body})))
	}
}

// thank tells a neighbor that its token is taken, in place of older words about that
// token. Node.mu is held.
func (p *visits) thank(l *link, number uint64) {
	tokens := uint64(len(p.seen))
	l.unqueue(func(q queued) bool { return q.kind == frame.Taken && q.round%tokens == number%tokens })
	l.push(p.n.frame(frame.Taken, number, nil))
}
