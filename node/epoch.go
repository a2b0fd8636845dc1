package node

import (
	"fmt"
	"slices"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mark"
)

// A run's members may change between two rounds: an amended roster begins when an agreed
// number of rounds is complete. The amendment travels with the frames, ahead of them, and
// nothing of that round is sent under the roster before. So nobody passes the round
// without it: where nodes wait for each other, whoever is k links away from the first
// that has the amendment is at most k rounds further when it gets it.
//
// A node that has completed the round tells its neighbors, and leaves when all of them
// have said the same: then nobody needs what it sent before. It goes on as a node of the
// next roster, from the same state. What it says of itself is signed for the run, and
// not for one of its rosters, so that a member that is rolled back over a change is seen.

// origin names the run in what members sign.
func (c *Config) origin() [32]byte {
	if c.Origin == [32]byte{} {
		return c.Run
	}
	return c.Origin
}

// change is the amendment that a node has taken on. Node.mu guards it.
type change struct {
	n     *Node
	next  *Amendment
	until uint64 // after so many rounds the node leaves; 0: there is no amendment
}

// possible reports why the members of the run cannot change.
func (h *change) possible() error {
	n := h.n
	p, rounds := n.pace.(*barrier)
	if rounds {
		_, rounds = p.ties.(twoWay)
	}
	const key, found = "epoch", "a change of members"
	switch s := n.cfg.Since; {
	case !rounds:
		return config.Bad(key, found, "none, but in rounds whose links have both directions "+
			"and do not change")
	case n.cfg.Restart == nil:
		return config.Bad(key, found, "none with an algorithm whose agents cannot begin "+
			"anew from their models")
	case !n.cfg.marks():
		return config.Bad(key, found, "none where nodes sign nothing")
	case s != nil && len(s.Was) != len(n.known):
		return config.Bad("was", len(s.Was), fmt.Sprintf("%d, one for each member", len(n.known)))
	}
	return nil
}

// intend takes on an amendment of an earlier process, when the node is at a stored state.
func (h *change) intend(a *Amendment) error {
	n := h.n
	if a == nil {
		return nil
	}
	if n.cfg.Missing == Wait && n.check.Round > a.Round && !a.Removed {
		return a.Passed(n.check.Round)
	}
	n.next, n.until = a, max(a.Round, n.check.Round)
	if n.until == n.check.Round && n.check.Round > 0 && n.check.Sent == n.check.Round &&
		n.claim.Sent == n.check.Sent { // it has sent messages of that round
		n.until++
		if n.cfg.Missing == Wait {
			return a.Passed(n.check.Round)
		}
	}
	n.forgo(a)
	return nil
}

// Passed is the error of an amendment that is too late for a node at a round.
func (a *Amendment) Passed(round uint64) error {
	return fmt.Errorf("%w: round %d, this node is at round %d; allowed: an amendment that begins at a later "+
		"one, ahead by more rounds than there are members", ErrPassed, a.Round, round)
}

// Amend takes on an amendment of the operator's, and stores it. ErrPassed: it came too
// late for this node, or for members that are ahead of it; a config.Error: this run's
// members cannot change, or there is another amendment.
func (h *change) Amend(a *Amendment) error { return h.accept(a, uint64(len(h.n.known))+1) }

// accept takes on an amendment that begins so many rounds ahead or later.
func (h *change) accept(a *Amendment, ahead uint64) error {
	n := h.n
	if err := n.possible(); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.next != nil && n.next.Run == a.Run:
		return nil
	case n.next != nil:
		return config.Bad("epoch", fmt.Sprintf("another amendment, %x", a.Run[:4]),
			fmt.Sprintf("%x, which members have taken on", n.next.Run[:4]))
	case a.Round < n.check.Round+ahead && n.cfg.Missing == Wait && !a.Removed:
		return a.Passed(n.check.Round)
	}
	if n.cfg.KeepAmendment != nil {
		if err := n.cfg.KeepAmendment(a); err != nil {
			return fmt.Errorf("storing an amendment: %w", err)
		}
	}
	n.next, n.until = a, max(a.Round, n.check.Round+2)
	n.cfg.Log.Info("the members change", "after round", n.until, "roster", fmt.Sprintf("%x", a.Run[:4]))
	n.forgo(a)
	for _, l := range n.order {
		l.announce(n)
	}
	n.signal()
	return nil
}

// forgo notes who leaves, and who is not waited for. Node.mu is held.
func (h *change) forgo(a *Amendment) {
	for i := range a.Leave {
		if l := h.n.links[agent.ID(i)]; l != nil && a.Leave[i] {
			l.leaves, l.forgone = true, a.Gone[i]
		}
	}
}

// announce queues the amendment for a neighbor, ahead of all frames. Node.mu is held.
func (l *link) announce(n *Node) {
	if !l.old {
		n.announce(l.id)
	}
}

// amend takes in a frame with an amendment.
func (h *change) amend(f *frame.Frame) error {
	n := h.n
	if n.cfg.OnAmendment == nil {
		return fmt.Errorf("%w: an amendment, allowed: none in this run", RefusedFrame)
	}
	a, err := n.cfg.OnAmendment(f.Payload)
	if err == nil {
		err = n.accept(a, 2)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	fork := &n.known[f.Sender].fork.next
	switch *fork = ""; {
	case err == nil:
		return nil
	case a != nil && n.next != nil && n.next.Run != a.Run:
		*fork = fmt.Sprintf("%x", a.Run[:4])
		return fmt.Errorf("%w: %w", RefusedChange, err)
	}
	return fmt.Errorf("%w: an amendment: %w", RefusedFrame, err)
}

// other says what a frame of another roster is: of one that this node comes to, or has
// left, whose members it tells.
func (h *change) other(from agent.ID, f *frame.Frame) error {
	n := h.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil && f.Run == n.next.Run {
		if l := n.links[from]; l != nil && !l.onward && len(l.queue) == 0 {
			l.hail(n) // what it answers says whether it has gone on, or is too early
		}
		was := n.known[from].Last.Round
		if n.cfg.marks() && n.cfg.Missing == Wait && len(f.Mark) == mark.Size &&
			max(was, mark.Read(f.Mark).Round) < n.next.Round {
			return fmt.Errorf("%w: it begins at %d, the peer was at %d", RefusedEarly, n.next.Round, was)
		}
		return fmt.Errorf("%w: it has gone on to the next roster", RefusedBusy)
	}
	if n.cfg.Earlier != nil && n.holds() {
		if text, self := n.cfg.Earlier(f.Run); text != nil {
			n.inform(from, f, text, self)
			return RefusedEpoch
		}
	}
	fork := &n.known[from].fork
	if f.Kind == frame.Hello && n.seeks() && time.Since(fork.asked) >= n.cfg.Deadline {
		fork.asked = time.Now()    // else the two would tell each other the same without a pause
		n.testify(from, nil, true) // it may follow an amendment that has not come here
	}
	fork.now = fmt.Sprintf("%x", f.Run[:4])
	return fmt.Errorf("%w: it follows roster %x, this node %x", RefusedRun, f.Run[:4], n.cfg.Run[:4])
}

// holds reports whether this node's roster does, which follows another: it has taken part
// under it, or a neighbor has, or its node under the one before was told so. Node.mu is
// held.
func (h *change) holds() bool {
	s := h.n.cfg.Since
	return s != nil && (s.Holds || !h.n.greeting ||
		slices.ContainsFunc(h.n.order, func(l *link) bool { return l.round >= s.Round }))
}

// early notes, for a node that has no state, that its roster is one of later: the
// neighbor waits for it under the roster before. Node.mu is held.
func (h *change) early(l *link) {
	if n := h.n; !n.resumed && n.cfg.Since != nil {
		n.barred = fmt.Errorf("%w: it begins at round %d, and %s waits for this member till then; "+
			"allowed: the roster before: this member is not new, its state is lost", ErrEarly,
			n.cfg.Since.Round, n.name(l.id))
		n.signal()
	}
}

// leaves reports whether the node sends nothing of a round, because the next roster
// begins there. Node.mu is held.
func (h *change) leaves(round uint64) bool { return h.next != nil && round == h.until }

// paused reports whether the node has completed all rounds under its roster.
func (h *change) paused() bool {
	n := h.n
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next != nil && !n.check.Finished && n.check.Round >= n.until
}

// carry takes over a checkpoint of the roster before.
func (h *change) carry(c *checkpoint.Checkpoint) error {
	n := h.n
	s := n.cfg.Since
	if was := s.Was[n.cfg.Self]; was < 0 || agent.ID(was) != c.Self {
		return fmt.Errorf("%w: it is of member %d of the roster before, allowed: %d", checkpoint.ErrState,
			c.Self, was)
	}
	place := map[uint64]int{}
	for i, was := range s.Was {
		if was >= 0 {
			place[uint64(was)] = i
		}
	}
	c.Run, c.Self = n.cfg.Run, n.cfg.Self
	if err := n.restore(c, func(i uint64) (int, bool) { at, ok := place[i]; return at, ok }); err != nil {
		return err
	}
	n.cfg.Log.Info("goes on under the next roster", "epoch", n.cfg.Number, "round", c.Round)
	return n.pace.(*barrier).carry(c)
}

// carry goes on with the messages of the round that was not begun under the roster
// before. A node that had not come so far sends nothing before it knows where it is.
func (p *barrier) carry(c *checkpoint.Checkpoint) error {
	n := p.n
	n.limits.measure(c)
	var err error
	if n.cfg.Algorithm, err = n.cfg.Restart(slices.Clone(n.cfg.Algorithm.Params())); err != nil {
		return err
	}
	if err := p.begin(n.cfg.Graph); err != nil {
		return err
	}
	n.broadcasts.Store(broadcast(c.Outbox))
	if n.claim.Sent == c.Sent || c.Sent != c.Round { // it may go on once more before it steps
		return p.keep(c.Round, sent{round: c.Round})
	}
	out, err := p.pack(n.cfg.Graph, n.out.Outbox, c.Round)
	if err != nil {
		return err
	}
	return p.keep(c.Round, out)
}

// join is how a new member begins: it says nothing of its first round, and takes in what
// its neighbors send, in place of its own first model.
func (p *barrier) join(round uint64) error {
	return p.keep(round, sent{round: round, messages: []byte{}})
}

// joins reports whether the node is new in a round.
func (c *Config) joins(round uint64) bool {
	return c.Since != nil && c.Since.Was[c.Self] < 0 && round == c.Since.Round
}

// new reports whether this node is of a new member and has not begun.
func (h *change) new() bool {
	s := h.n.cfg.Since
	return s != nil && h.n.greeting && s.Was[h.n.cfg.Self] < 0
}

// premature reports whether this node is a new member whose first round nobody has come
// to, where rounds go on without members: it would make them alone. Node.mu is held.
func (h *change) premature() bool {
	n := h.n
	return n.new() && n.cfg.Missing == Proceed && !slices.ContainsFunc(n.order, func(l *link) bool {
		return max(l.round, n.known[l.id].Last.Round) >= n.cfg.Since.Round
	})
}

// waitsOutside logs that nobody lets a new member in before its first round: to those
// under the roster before it is a stranger.
func waitsOutside(n *Node) {
	if n.new() {
		n.cfg.Log.Info("this member is new: the others know it when they have come to its first round",
			"round", n.cfg.Since.Round)
	}
}

// advice is what can be done about a wait without an end. Node.mu is held.
func (h *change) advice() string {
	if h.new() {
		return fmt.Sprintf("Its first round is %d: where others are past that under the roster before, "+
			"this one came too late, and they sign another", h.n.cfg.Since.Round)
	}
	return "Start it with the newest roster, or agree on one without who is gone"
}

// overhear notes the round of a frame that comes before this node begins.
func (h *change) overhear(f *frame.Frame) {
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	if l := h.n.links[f.Sender]; l != nil && h.n.premature() {
		l.round = max(l.round, f.Round)
		h.n.signal()
	}
}

// anew reports whether a mark of a member that is new in the present roster is of before
// it had left. Its state is gone with its place, and its charges are not.
func (h *change) anew(i agent.ID, m *mark.Mark) bool {
	s := h.n.cfg.Since
	return s != nil && s.Was[i] < 0 && m.Round < s.Round
}

// comer finds the new member of the present roster that has signed a mark; -1: none has.
func (h *change) comer(signed []byte) int {
	c := &h.n.cfg
	for i, was := range c.Since.Was {
		if _, err := mark.Parse(signed, c.origin(), agent.ID(i), c.Keys[i]); err == nil && was < 0 {
			return i
		}
	}
	return -1
}
