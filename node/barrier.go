package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sotto/agent"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mailbox"
	"sotto/node/mark"
)

// barrier drives a node in rounds. A round waits for the frames of all in-neighbors, or
// for the deadline; then the algorithm steps, what came of it is stored, and sent.
type barrier struct {
	mailing
	graphs  graphs
	ties    ties
	present []agent.Neighbor // in the present round
}

var _ pacer = (*barrier)(nil)

func newBarrier(n *Node) *barrier {
	p := &barrier{mailing: mailing{n: n}, graphs: newGraphs(&n.cfg)}
	p.ties = newTies(p)
	return p
}

func (p *barrier) start() error {
	if err := p.begin(p.graphs.At(0)); err != nil {
		return err
	}
	if s := p.n.cfg.Since; s != nil {
		return p.join(s.Round)
	}
	return p.commit(0)
}

func (p *barrier) resume(c *checkpoint.Checkpoint) error {
	err := p.mailing.resume(c)
	if c.Round > 0 {
		p.kept[0].round = p.ties.previous(c)
	}
	return err
}

func (p *barrier) counts() (unit string, total uint64, known bool) {
	return InRounds, p.n.cfg.Rounds, true
}

// next completes one round, and those after it that need no neighbor and no answer.
func (p *barrier) next(ctx context.Context) error {
	n, jump := p.n, uint64(0)
	var behind error
	err := p.collect(ctx, func(deadlines int) bool {
		waiting := p.waiting(deadlines)
		jump, behind = p.passed(deadlines), p.outpaced(deadlines)
		return waiting == 0 || jump > 0 || behind != nil
	}, func(l *link) bool {
		return l.mail != nil && !l.mail.Now.Full && !p.silent(l) || p.ties.behind(l)
	})
	if err = cmp.Or(err, behind); err != nil {
		return err
	}
	k := n.check.Round
	if jump > k {
		return p.skip(jump)
	}
	reports := []RoundReport{{Round: k}}
	view := p.view(&reports[0])
	n.cfg.Gate.Begin(k, view.In)
	n.in, n.asked = agent.Input{Kind: agent.Round, Round: k, View: view, Inbox: p.inbox}, false
	if err := n.stepUntilDone(&reports[0]); err != nil {
		return fmt.Errorf("round %d: %w", k, err)
	}
	next, reports, err := p.ties.pass(ctx, k+1, reports)
	if err != nil {
		return err
	}
	if err := p.commit(next); err != nil {
		return fmt.Errorf("round %d: %w", next-1, err)
	}
	for i := range reports {
		n.report(&reports[i])
	}
	return nil
}

// waiting counts the neighbors whose frame of the present round is still waited for after
// so many deadlines, and those who are behind. Under Proceed a neighbor that has taken
// this node's frame of the round is given a second one, because it may itself be waiting
// for somebody; and one that was missing before and has sent nothing since is not waited
// for, unless nobody else is there. Node.mu is held.
func (p *barrier) waiting(deadlines int) int {
	n := p.n
	missing, waitable, there := 0, 0, 0
	for _, l := range n.order {
		if p.ties.behind(l) {
			missing++
		}
		switch {
		case l.mail == nil || p.silent(l) || l.forgone && !l.mail.Now.Full:
		case l.mail.Now.Full:
			there++
		default:
			missing++
			if !l.absent && (deadlines == 0 || deadlines == 1 && l.taken > n.check.Round) {
				waitable++
			}
		}
	}
	if n.cfg.Missing == Wait || deadlines == 0 && there == 0 {
		return missing
	}
	return waitable
}

// silent reports whether the neighbor sends nothing to this node in the present round,
// whose graph lacks that link. Node.mu is held.
func (p *barrier) silent(l *link) bool { return !p.hearsFrom(l.id, p.n.check.Round) }

// hearsFrom reports whether this node takes in an in-neighbor's messages of a round.
func (p *barrier) hearsFrom(i agent.ID, round uint64) bool {
	return p.graphs.hears(p.n.cfg.Self, i, round)
}

// hears reports whether the neighbor takes in this node's messages of a round.
func (p *barrier) hears(l *link, round uint64) bool {
	return p.graphs.hears(l.id, p.n.cfg.Self, round)
}

// passed finds the round to skip to: 0 unless every neighbor has left the present one
// behind. Where all wait for each other it is enough, after a deadline, that one has and
// nobody is in a round before: it has lost what it sent for the present one, while it
// stored the round after the next, for which it had this node's messages. Node.mu is
// held.
func (p *barrier) passed(deadlines int) (jump uint64) {
	n := p.n
	if n.cfg.Missing == Wait {
		for _, l := range n.order {
			switch {
			case deadlines == 0 || n.cfg.Remembers:
			case l.mail == nil || p.silent(l) || l.forgone || l.mail.Now.Full:
				continue
			case p.lacks(l):
				jump = n.check.Round + 1
				continue
			}
			return 0
		}
		return jump
	}
	var witness *link // who says so, when nobody else does
	count := 0
	for _, l := range n.order {
		if l.mail == nil || l.absent {
			continue
		}
		witness = l
		count++
		// A frame of the next round may come while that of this one is still on its way;
		// later ones cannot.
		later := &l.mail.Later
		if l.mail.Now.Full || !later.Full || later.Round <= n.check.Round+1 {
			return 0
		}
		if jump == 0 || later.Round < jump {
			jump = later.Round
		}
	}
	if jump > 0 && count == 1 && !p.believes(witness, jump) {
		return 0
	}
	return min(jump, n.cfg.Rounds)
}

// lacks reports whether a neighbor has sent what is of a later round alone, and it or
// this node says that it was rolled back. Node.mu is held.
func (p *barrier) lacks(l *link) bool {
	n := p.n
	return l.mail.Lacks() && max(n.generation, n.known[l.id].Last.Generation) > 0
}

// outpaced is the error of a node that was rolled back, as a neighbor shows that has come
// where nobody comes without this node's messages of rounds that it has not begun. It
// would have been told how many charges its ledger lacks, had not all who knew been
// rolled back as well. Who has been told of some goes on where it can: see forgotten.
// Node.mu is held.
func (p *barrier) outpaced(deadlines int) error {
	n := p.n
	if _, both := p.ties.(twoWay); !both || !n.cfg.marks() || n.cfg.Missing != Wait || deadlines == 0 {
		return nil
	}
	for _, l := range n.order {
		at := n.known[l.id].Last.Round
		goesOn := l.mail == nil || l.mail.Now.Full || l.mail.Later.Full && n.generation > 0
		if at > n.check.Round+1 && !goesOn {
			return fmt.Errorf("%w: this node stands at round %d and %s at %d, where nobody comes without "+
				"this one's messages of round %d, and no neighbor has its word for more: they were rolled "+
				"back as well, or %[3]s signs what is not so; allowed: the newest state and ledger, or a "+
				"roster without this member or %[3]s", ErrBehind, n.check.Round, n.name(l.id), at,
				n.check.Round+1)
		}
	}
	return nil
}

// believes reports whether others bear out that everybody has reached a round which one
// neighbor alone speaks of. Where nobody is about as far it asks others who hear that
// neighbor, once a deadline. Node.mu is held.
func (p *barrier) believes(l *link, round uint64) bool {
	n := p.n
	if !n.cfg.marks() || n.cfg.Graph.Agents() <= 2 {
		return true // nobody else can say
	}
	for i := range n.known {
		a := &n.known[i]
		if id := agent.ID(i); id != l.id && id != n.cfg.Self && a.Last.Bytes != nil &&
			a.Last.Round+mark.Compared >= round {
			return true
		}
	}
	if l.asked.IsZero() || time.Since(l.asked) >= n.cfg.Deadline {
		l.asked = time.Now()
		n.cfg.Log.Warn("a peer is far ahead, and nobody else is known to be", "peer", n.name(l.id), "round",
			round)
		for _, o := range n.cfg.Graph.Out(l.id) {
			if o.ID != n.cfg.Self && o.ID != l.id {
				n.testify(o.ID, nil, true)
			}
		}
	}
	return false
}

// view is the row of the mixing matrix that holds in this round: the weight of missing
// neighbors is on self. It fills the inbox.
func (p *barrier) view(r *RoundReport) *agent.View {
	n, i := p.n, p.n.cfg.Self
	g := p.graphs.At(n.check.Round)
	v := &agent.View{SelfWeight: g.SelfWeight(i), Out: g.Out(i)}
	p.inbox, p.present = p.inbox[:0], p.present[:0]
	lost := 0.
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, nb := range g.In(i) {
		l := n.links[nb.ID]
		before := len(p.inbox)
		if l.mail.Now.Full {
			p.inbox = append(p.inbox, l.mail.Now.Messages...)
		}
		if len(p.inbox) > before {
			p.present = append(p.present, nb)
			continue
		}
		lost += nb.Weight
		v.Missing++
		if l.mail.Now.Full { // it came and holds nothing
			continue
		}
		r.Missing = append(r.Missing, nb.ID)
		l.absent = true
		n.check.Counts.Missing++
		if l.out && l.taken > r.Round {
			r.OneSided++
			n.check.Counts.OneSided++
		}
	}
	v.In = p.present
	if v.Missing > 0 {
		v.SelfWeight += lost
	}
	if n.cfg.joins(r.Round) {
		v.Adopt()
	}
	return v
}

// commit stores what the steps so far have led to, and then sends it: round is the next
// one. Nothing is sent after the last one, nor where nobody hears it.
func (p *barrier) commit(round uint64) error {
	out, err := sent{round: round}, error(nil)
	if round < p.n.cfg.Rounds && p.ties.heard(round) {
		if out, err = p.pack(p.graphs.At(round), p.n.out.Outbox, round); err != nil {
			return err
		}
	}
	return p.keep(round, out)
}

// skip goes on with a later round, without a step: the models of the rounds between are
// gone, and a gradient that nobody mixes is not worth its charge. What was sent last is
// sent as this round's.
func (p *barrier) skip(to uint64) error {
	n, from := p.n, p.n.check.Round
	n.cfg.Log.Warn("the neighbors have moved on", "round", from, "to", to)
	out := sent{round: to}
	if to < n.cfg.Rounds {
		out = p.resent(to)
	}
	n.mu.Lock()
	n.check.Counts.Skipped += to - from
	n.mu.Unlock()
	if err := p.keep(to, out); err != nil {
		return err
	}
	for k := from; k < to; k++ {
		n.report(&RoundReport{Round: k, Skipped: true})
	}
	return nil
}

// keep stores the node's state at the beginning of round with the messages that it sends
// for it, and queues them. Those of the round at which the members change are the next
// roster's to send: nothing is claimed of them.
func (p *barrier) keep(round uint64, out sent) error {
	n := p.n
	n.mu.Lock()
	c, kept := n.check, p.kept
	was, leaves := c.Round, n.leaves(round)
	n.mu.Unlock()
	if leaves {
		out.shared, out.claim = nil, n.claim
	}
	c.Round, c.Finished, c.Barrier = round, round == n.cfg.Rounds, false
	before, out := p.ties.keep(&c, kept, out)
	return p.store(&c, before, out, func(l *link) {
		if l.mail != nil {
			l.mail.Advance(round)
		}
		if leaves {
			p.last().messages = nil
			l.mark(n)
		}
		p.queue(l, round, p.hears)
		l.finish(n)
		p.ties.stored(l, was)
	})
}

func (p *barrier) resend(l *link, hello bool) {
	p.queue(l, 0, p.hears)
	l.finish(p.n)
	if p.n.leaves(p.n.check.Round) {
		l.mark(p.n)
	}
	if hello {
		p.ties.hello(l)
	}
}

// take takes in a frame of messages that the round's graph has a link for.
func (p *barrier) take(l *link, f *frame.Frame) error {
	switch {
	case f.Kind != frame.Messages:
		return otherPace(f)
	case f.Round >= p.n.cfg.Rounds:
		return verdictError(mailbox.Ahead, f)
	case !p.hearsFrom(l.id, f.Round):
		return fmt.Errorf("%w: round %d has no link from it", RefusedSender, f.Round)
	}
	return p.read(l, f, p)
}

func (p *barrier) expected(_ *link, round uint64) uint64 { return round }

func (p *barrier) judge(m *mailbox.Box, round, present uint64) mailbox.Verdict {
	return p.ties.judge(m, round, present)
}
