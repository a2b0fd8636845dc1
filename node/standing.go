package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/roster"
)

// ErrBehind says that a node was rolled back and cannot take part again: what it would
// need is gone.
var ErrBehind = errors.New("node: rolled back")

// ErrClone says that another process takes part with this member's key.
var ErrClone = errors.New("node: another process takes part with this member's key")

// ErrTerms says that members wait for each other in different ways, so that somebody
// would wait for good.
var ErrTerms = errors.New("node: members run under different terms")

// ErrStalled says that nothing has gone on for as long as the node is to be patient.
var ErrStalled = errors.New("node: no step for too long")

// standing is what a node says about itself, and what others have told it. Node.mu guards
// it.
type standing struct {
	n          *Node
	generation uint64
	nonce      uint64     // of this process
	claim      mark.Claim // of what was sent last
	book       mark.Book  // when the last checkpoint was made
	signed     []byte     // the present mark; nil: to be signed anew
	rejoined   int        // times in this process
	greeting   bool       // it waits for the neighbors' words, and takes in nothing else
	rejoining  bool       // what it had sent is of a former generation, and nobody gets it again
	reminders
}

// mostRejoins is how often one process goes on from where others know it to be.
const mostRejoins = 2

// mark signs what this node has come to, with the claim of some messages. Node.mu is
// held.
func (s *standing) mark(c mark.Claim) []byte {
	n := s.n
	if !n.cfg.marks() {
		return nil
	}
	if n.signed != nil && c == n.claim {
		return n.signed
	}
	m := mark.Mark{Round: n.check.Round, Generation: n.generation, Process: n.nonce, Claim: c, Book: n.book}
	signed := m.Encode(n.cfg.origin(), n.cfg.Sign)
	if c == n.claim {
		n.signed = signed
	}
	return signed
}

// resign makes anew what was queued before the node was found to be rolled back: with a
// former mark it would be refused for good. Node.mu is held.
func (s *standing) resign(l *link) {
	for i, q := range l.queue {
		marked := q.frame[4] != frame.Oldest
		if marked && (q.kind == frame.Witness || q.kind == frame.Change || q.kind == frame.Progress) {
			l.queue[i] = s.n.frame(q.kind, s.n.check.Round, q.frame[frame.HeaderSize:len(q.frame)-mark.Size])
		}
	}
}

// rejoiner is a pace that can go on with a later round.
type rejoiner interface {
	// rejoin stores the node's state as that of the beginning of a round that others know
	// it to have reached.
	rejoin(round uint64) error
}

// rejoin goes on from where others know this node to be: what it has charged since is
// charged again before anything is answered, and what it says from now on is of another
// generation.
func (s *standing) rejoin() error {
	n := s.n
	n.mu.Lock()
	from, charges, was := n.check.Round, n.book.Charges, &mark.Mark{Book: n.book}
	round, generation := from, n.generation
	if n.before() {
		round = n.cfg.Since.Round
	}
	var known []*mark.Mark
	if n.ahead(n.reminder) {
		known = append(known, n.reminder)
	}
	if n.debt != nil {
		known = append(known, n.debt)
	}
	for _, m := range known {
		round, generation = max(round, m.Round), max(generation, m.Generation)
	}
	if slices.ContainsFunc(n.order, func(l *link) bool { return n.parted(l) }) {
		round = max(round, n.until)
	}
	n.reminder, n.debt = nil, nil
	n.rejoined++
	most := mostRejoins * (1 + len(n.order)) // neighbors come back late, and tell in parts
	n.mu.Unlock()
	if was.Round = round; len(known) > 0 {
		was = known[len(known)-1]
	}
	at := fmt.Sprintf("round %d with %d charges, its neighbors have its word for %d with %d", from, charges,
		was.Round, was.Charges)
	p, can := n.pace.(rejoiner)
	switch {
	case n.rejoined > most:
		return fmt.Errorf("%w: it stands at %s", ErrClone, at)
	case !can:
		return fmt.Errorf("%w: this node stands at %s; allowed: the newest state and ledger, because a run "+
			"of this pace cannot go on from there", ErrBehind, at)
	case n.cfg.Remembers && round > from:
		return fmt.Errorf("%w: this node stands at %s; allowed: the newest state and ledger, because no "+
			"round of this run can be left out", ErrBehind, at)
	}
	n.cfg.Log.Error("this node was rolled back", "stands at", from, "was at", was.Round, "charges",
		charges, "had", was.Charges)
	for k, m := range known {
		if err := n.repay(m, k == 0); err != nil {
			return err
		}
	}
	n.restart(generation + 1)
	if err := p.rejoin(round); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rejoining = false
	for _, l := range n.order {
		n.resign(l)
		l.hail(n)
		n.pace.resend(l, false) // it may lack what came before the present round
	}
	return nil
}

// restart begins a generation, with a chain of claims of its own. What was sent before is
// refused for good from now on, and would keep what comes after it from being sent.
func (s *standing) restart(generation uint64) {
	n := s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	n.generation, n.rejoining = generation, true
	n.claim, n.signed = mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}, nil
	for _, l := range n.order {
		l.unqueue(func(q queued) bool {
			return q.kind == frame.Messages || q.kind == frame.Offer || q.kind == frame.Reply
		})
		n.resign(l)
		if l.owes(frame.Hello) {
			l.hail(n)
		}
	}
}

// mute reports whether neighbors that say hello get nothing yet. Node.mu is held.
func (s *standing) mute() bool { return s.greeting || s.rejoining }

// hail says hello to a neighbor, in place of an older word. Node.mu is held.
func (l *link) hail(n *Node) {
	l.drop(frame.Hello)
	var terms []byte
	if n.cfg.marks() {
		terms = u64(nil, n.cfg.terms())
	}
	l.urgent(n.frame(frame.Hello, n.check.Round, terms))
}

// ask waits until the neighbors have said what they know of this node. Where a round
// waits for everybody, or noise is shared, that is all of them. Elsewhere the deadline
// ends the wait, but a node that was here before goes on only when somebody has told it
// where it was, and a new member begins only where somebody has come to its first round.
func (s *standing) ask(ctx context.Context) error {
	n := s.n
	if !n.cfg.marks() || n.check.Finished || !n.pace.waits() && !n.resumed && n.book.Charges == 0 ||
		n.paused() && n.next.Removed {
		return nil
	}
	patience := n.cfg.Deadline
	if !n.resumed && n.cfg.Missing == Proceed {
		patience /= 2 // others do not wait longer than that for this node's first messages
	}
	asleep := time.NewTimer(patience)
	defer asleep.Stop()
	for late := false; ; {
		n.mu.Lock()
		missing, there, untold := 0, 0, 0
		for _, l := range n.order {
			if slices.ContainsFunc(l.queue, func(q queued) bool { return q.kind == frame.Hello }) {
				untold++
			}
			// who had finished may have left
			if l.word && !l.other || l.needless(n) ||
				late && (l.attestation != nil || n.parted(l) || n.vanished(l)) {
				there++
			} else if missing++; late && l.state != Gone {
				l.turn(n, Late)
			}
		}
		barred, err, outrun, holds := n.barred, n.differ(late), n.outrun(), n.holds()
		early := n.premature()
		n.mu.Unlock()
		switch {
		case outrun:
			return errOnward
		case barred != nil && (late && !holds || !errors.Is(barred, ErrEarly)):
			return barred
		case err != nil && (untold == 0 || late): // so that others end as well
			return err
		case err != nil:
		case early:
		case missing == 0:
			return nil
		case late && !n.cfg.Shares && (!n.pace.waits() || n.cfg.Missing == Proceed) &&
			(there > 0 || !n.resumed):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.events:
		case <-asleep.C:
			late = true
			n.mu.Lock()
			for _, l := range n.order {
				// whoever took the hello may be gone, or has answered another process
				if l.fault == "" && (early || !l.word) {
					l.hail(n)
				}
			}
			n.mu.Unlock()
			asleep.Reset(n.cfg.Deadline)
		}
	}
}

// untold reports whether a neighbor has not said yet what it knows of this node. Node.mu
// is held.
func (s *standing) untold() bool {
	return slices.ContainsFunc(s.n.order, func(l *link) bool { return !l.word })
}

// orient learns from the neighbors where this node is, and goes there.
func (s *standing) orient(ctx context.Context) error {
	n := s.n
	if err := n.ask(ctx); err != nil {
		return err
	}
	if n.greeting {
		if err := n.begin(); err != nil {
			return err
		}
	}
	n.mu.Lock()
	again, lost := n.greeting, n.lost()
	if n.greeting = false; again && !lost {
		for _, l := range n.order {
			l.hail(n) // who was told to wait may send at once
			n.pace.resend(l, false)
		}
	}
	n.mu.Unlock()
	if lost {
		if err := n.rejoin(); err != nil {
			return err
		}
	}
	n.mu.Lock()
	n.started = true
	n.mu.Unlock()
	return nil
}

// begin steps the algorithm for the first time.
func (s *standing) begin() error {
	n := s.n
	err := n.pace.start()
	n.started = err == nil && !n.greeting
	return err
}

// errLost ends a wait: others know this node to have been further.
var errLost = errors.New("node: others know this node to have been further")

// stalled is the error of a node that has waited too long.
func (s *standing) stalled() error {
	n := s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil && n.next.Removed {
		return n.ends()
	}
	var whom []string
	for _, l := range n.order {
		if l.state == Late || l.state == Gone {
			whom = append(whom, fmt.Sprintf("%s (%s since %s)", n.name(l.id), l.state,
				l.since.UTC().Format(time.RFC3339)))
		}
	}
	if whom == nil {
		whom = []string{"nobody is late"}
	}
	unit, _, _ := n.pace.counts()
	return fmt.Errorf("%w: %d %s after %v; waited for: %s. %s", ErrStalled, n.check.Round, unit,
		n.cfg.Patience, strings.Join(whom, ", "), n.advice())
}

// encodeMarks writes what the node has said and heard: its generation, the claims of the
// two messages that it keeps, and the newest mark of each member. Node.mu is held.
func (s *standing) encodeMarks(c *checkpoint.Checkpoint) []byte {
	n := s.n
	if !n.cfg.marks() {
		return nil
	}
	m := mark.Memory{Generation: n.generation, Process: n.nonce, Lineage: n.lineage, Claims: c.Claims[:]}
	if len(c.Before)+len(c.Outbox) == 0 { // else those tell it
		m.Values = uint64(n.limits.length)
	}
	if n.debt == nil && !n.untold() {
		m.Lineage = mark.Lineage{}
	}
	m.Members = n.remembered()
	return m.Encode()
}

// keepMarks stores what the node has heard of others since its last checkpoint; what it
// has said itself stays with that one's state.
func (s *standing) keepMarks() error {
	n := s.n
	c, err := n.cfg.Store.Load()
	if err != nil || c == nil || c.Run != n.cfg.Run || len(c.Marks) == 0 {
		return err
	}
	m, err := mark.ReadMemory(c.Marks, len(c.Claims), mostRemembered)
	if err != nil {
		return err
	}
	n.mu.Lock()
	m.Members = n.remembered()
	n.mu.Unlock()
	c.Marks = m.Encode()
	return n.cfg.Store.Save(c)
}

// mostRemembered is how many marks a node keeps.
const mostRemembered = 3*roster.MaxMembers + mark.MostLeft

// decodeMarks reads what encodeMarks writes; nothing is of a node that had none. place
// gives the present numbers of members, and whether they have one.
func (s *standing) decodeMarks(b []byte, place func(i uint64) (int, bool)) (
	claims [checkpoint.Kept]mark.Claim, err error) {
	n := s.n
	for i := range claims {
		claims[i] = mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}
	}
	if len(b) == 0 || !n.cfg.marks() {
		return claims, nil
	}
	m, err := mark.ReadMemory(b, len(claims), mostRemembered)
	if err != nil {
		return claims, fmt.Errorf("%w: %w", checkpoint.ErrState, err)
	}
	copy(claims[:], m.Claims)
	n.generation, n.former, n.lineage = m.Generation, m.Process, m.Lineage
	n.limits.length = int(min(m.Values, uint64(n.limits.values)))
	for _, r := range m.Members {
		i, there := place(r.Member)
		switch {
		case !there && n.cfg.Since == nil:
			return claims, fmt.Errorf("%w: a mark of member %d", checkpoint.ErrState, r.Member)
		case !there: // it has left, and may be back
			if i = n.comer(r.Signed); i < 0 {
				r.Member = mark.Left
				n.left = append(n.left, r)
				continue
			}
		}
		a := &n.known[i]
		a.backs, a.lied, a.forgot = r.Backs, r.Lied, r.Forgot
		a.Recall(r.Signed)
		a.since = a.Last.Generation
	}
	n.left = n.left[:min(len(n.left), mark.MostLeft)] // the first have left last
	return claims, nil
}
