package node

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"sotto/agent"
	"sotto/node/courier"
	"sotto/node/frame"
	"sotto/node/mark"
)

// witness is what a node knows of the members by their marks. Node.mu guards it, but for
// broadcasts.
type witness struct {
	n          *Node
	known      []acquaintance // by member
	barred     error          // why it is not to begin, as a neighbor shows: ErrClone or ErrEarly
	broadcasts atomic.Bool    // what is sent in a round is one for all
	courier    courier.Courier
	left       []mark.Remembered // of members that have left
}

// marks reports whether the node signs what it says.
func (c *Config) marks() bool { return c.Sign != nil && c.Keys != nil }

// verified reads a mark, whose signature is not checked again where it is known. Others
// say nothing with keys that they have replaced; what this member has said with its own
// former ones it is told by its neighbors, and no thief of one speaks of rounds after it.
func (w *witness) verified(b []byte, member agent.ID) (mark.Signed, error) {
	n := w.n
	n.mu.Lock()
	known := bytes.Equal(b, n.known[member].Last.Bytes)
	n.mu.Unlock()
	if known {
		return mark.Signed{Mark: mark.Read(b), Bytes: b}, nil
	}
	m, err := mark.Parse(b, n.cfg.origin(), member, n.cfg.Keys[member])
	if s := n.cfg.Since; err != nil && s != nil && member == n.cfg.Self {
		m, err = mark.ParseFormer(b, n.cfg.origin(), member, s.Formers, n.cfg.Missing == Wait)
	}
	if err == nil {
		err = m.Check(longest(n.pace))
	}
	return mark.Signed{Mark: m, Bytes: bytes.Clone(b)}, err
}

// shown is the mark of another process with this member's key that a neighbor has
// answered with; nil where it does not hold, and for any other answer.
func (w *witness) shown(answer error) *mark.Signed {
	var t *Twin
	if !errors.As(answer, &t) || !w.n.cfg.marks() {
		return nil
	}
	h, err := w.verified(t.Mark, w.n.cfg.Self)
	if err != nil || h.Process == w.n.nonce {
		return nil
	}
	return &h
}

// examine looks at the mark of a frame: whether it fits what the frame brings, and what
// its sender has shown before.
func (w *witness) examine(f *frame.Frame) error {
	n := w.n
	if f.Mark == nil {
		return n.unmarked(f.Sender)
	}
	if !n.cfg.marks() {
		return nil
	}
	h, err := n.verified(f.Mark, f.Sender)
	switch one := err == nil && f.Kind == frame.Messages && n.broadcasts.Load(); {
	case err != nil && f.Kind == frame.Change: // of a later roster, with the key that its sender has there
		return nil
	case one && h.Mark.Of(f.Payload) != h.Sum:
		err = fmt.Errorf("%w: messages that its mark is not of", frame.ErrMalformed)
	case one && h.Sent != f.Round:
		err = fmt.Errorf("%w: messages of round %d with the mark of round %d", frame.ErrMalformed, f.Round,
			h.Sent)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	n.mu.Lock()
	a := &n.known[f.Sender]
	proof := n.compare(f.Sender, &h)
	err = n.admit(f, a, &h)
	n.mu.Unlock()
	n.accuse(proof)
	return err
}

// unmarked takes a frame of the first version, of a member that has sent no later ones.
func (w *witness) unmarked(from agent.ID) error {
	n := w.n
	n.mu.Lock()
	defer n.mu.Unlock()
	a := &n.known[from]
	switch {
	case a.version > frame.Oldest:
		return fmt.Errorf("%w: %w %d, after frames of version %d", RefusedVersion, frame.ErrVersion,
			frame.Oldest, a.version)
	case n.cfg.marks() && n.cfg.SignedTerms:
		return fmt.Errorf("%w: %w %d, allowed: %d", RefusedVersion, frame.ErrVersion,
			frame.Oldest, frame.Newest)
	case n.cfg.marks() && a.version == 0:
		n.cfg.Log.Warn("a peer sends frames of an older version: whether it was rolled back, or says "+
			"different things, is not seen", "peer", n.name(from), "version", frame.Oldest)
	}
	a.version = frame.Oldest
	if l := n.links[from]; l != nil && n.cfg.marks() {
		l.lower()
		n.signal()
	}
	return nil
}

// admit says whether a frame with a verified mark is taken. Node.mu is held.
func (w *witness) admit(f *frame.Frame, a *acquaintance, h *mark.Signed) error {
	n := w.n
	if l := n.links[f.Sender]; l != nil && l.old {
		l.renew(n)
	}
	a.version = frame.Newest
	if a.lied && n.cfg.DropLiars {
		return RefusedLiar
	}
	if h.Process == a.retired && h.Round > a.until && a.retired != 0 {
		n.twice(f.Sender, a)
	}
	last := &a.Last
	if last.Bytes == nil {
		a.Keep(*h)
		return nil
	}
	anew := n.anew(f.Sender, &last.Mark)
	if anew && h.Lacks(&last.Mark) || !anew && h.Behind(&last.Mark) {
		if !anew && h.Generation == last.Generation && (f.Kind != frame.Hello || h.Process == last.Process) {
			return nil // it was under way while others came
		}
		n.back(f.Sender, a, h)
		if f.Kind == frame.Hello && h.Process != last.Process && h.Process != a.rival {
			// what was under way of a process that has ended is one round further at most
			a.rival, a.retired, a.until = h.Process, last.Process, last.Round+1
		} else if h.Process == a.rival && last.Process == a.retired && last.Round > a.until {
			return &Twin{last.Bytes}
		}
		return fmt.Errorf("%w: it says round %d, record %d, and has said round %d, record %d",
			RefusedBehind, h.Round, h.Head.Seq, last.Round, last.Head.Seq)
	}
	if !anew && h.Anew(&last.Mark) && seldom(&a.chains) {
		n.cfg.Log.Warn("a peer leaves out of its chain of claims what it has sent before: it has lost its "+
			"state, or it lies", "peer", n.name(f.Sender), "round", h.Sent, "before", last.Sent)
	}
	if h.Generation > last.Generation {
		a.forgot = a.forgot || h.Process == a.by
		if seldom(&a.backs) {
			n.cfg.Log.Warn("a peer says that it was rolled back, and goes on", "peer", n.name(f.Sender),
				"round", h.Round, "times", h.Generation)
		}
	}
	if h.Ledger != last.Ledger && seldom(&a.ledgers) {
		n.cfg.Log.Warn("a peer has another ledger than before", "peer", n.name(f.Sender), "ledger",
			fmt.Sprintf("%x", h.Ledger), "before", fmt.Sprintf("%x", last.Ledger))
	}
	if f.Kind == frame.Hello && h.Process != last.Process {
		a.retired, a.until = last.Process, max(h.Round, last.Round)
	}
	a.Keep(*h)
	return nil
}

// back names a member that has gone back. Node.mu is held.
func (w *witness) back(i agent.ID, a *acquaintance, h *mark.Signed) {
	if seldom(&a.backs) {
		w.n.cfg.Log.Warn("a peer was rolled back, or another one has its key", "peer", w.n.name(i),
			"says round", h.Round, "was at", a.Last.Round, "says charges", h.Charges, "had", a.Last.Charges)
	}
}

// twice names a member whose key two processes have. Node.mu is held.
func (w *witness) twice(i agent.ID, a *acquaintance) {
	if !a.twice {
		a.twice = true
		w.n.cfg.Log.Error("two processes take part with the key of a peer", "peer", w.n.name(i))
	}
}

// Marks returns the newest mark of every member that has shown one.
func (w *witness) Marks() (all []mark.Held) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	for i := range w.n.known {
		if b := w.n.known[i].Last.Bytes; b != nil {
			all = append(all, mark.Held{Member: agent.ID(i), Signed: hex.EncodeToString(b)})
		}
	}
	return all
}

// remembered is what the node keeps of members. Node.mu is held.
func (w *witness) remembered() (all []mark.Remembered) {
	for i := range w.known {
		a := &w.known[i]
		for _, h := range a.ByProcess() {
			all = append(all, mark.Remembered{Member: uint64(i), Backs: a.backs, Lied: a.lied,
				Forgot: a.forgot, Signed: h.Bytes})
		}
	}
	return append(all, w.left...)
}

const proceeds = 1 // of terms: Missing is Proceed

// terms are those that this node runs under, for others to compare.
func (c *Config) terms() uint64 {
	t := uint64(frame.Oldest)<<8 | uint64(frame.Newest)<<16
	if c.Missing == Proceed {
		t |= proceeds
	}
	return t
}

// hear takes in what another member holds: marks of others, which are compared with those
// that came here, and of this node, which may have been further than it knows.
func (w *witness) hear(f *frame.Frame) error {
	n := w.n
	t, err := mark.ReadTestimony(f.Payload, len(n.known))
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	own := false // a mark of this node's has come, whose process waited for the word of those after it
	for _, s := range t.Marks {
		h, err := n.verified(s.Signed, s.Member)
		if err != nil && n.cfg.Since != nil && (own && n.cfg.Missing == Wait || s.Member != n.cfg.Self) {
			continue // it may be of a former key
		} else if err != nil {
			return fmt.Errorf("%w: %w", RefusedFrame, err)
		}
		n.mu.Lock()
		var proof *mark.Proof
		if s.Member == n.cfg.Self {
			own = true
			n.remind(&h)
		} else if proof = n.compare(s.Member, &h); n.known[s.Member].Last.Bytes != nil {
			n.known[s.Member].Keep(h)
		}
		n.mu.Unlock()
		n.accuse(proof)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.links[f.Sender]; l != nil {
		a := &n.known[f.Sender]
		a.clock.Take(t.Terms>>frame.ClockAt, time.Now())
		if a.by == 0 && len(f.Mark) == mark.Size {
			m := mark.Read(f.Mark)
			a.by, a.forgot = m.Process, a.forgot || m.Generation > a.since
		}
		l.word = true
		n.agree(l, t.Terms)
	}
	if t.Wants {
		n.testify(f.Sender, nil, false)
		n.announce(f.Sender)
	}
	n.signal()
	return nil
}

// testify sends a member what is known of it, with other marks. Node.mu is held.
func (w *witness) testify(to agent.ID, others []mark.Testified, wants bool) {
	n := w.n
	t := mark.Testimony{Terms: n.cfg.terms(), Wants: wants, Marks: others}
	for _, h := range n.known[to].ByProcess() {
		if len(t.Marks) < mark.MostMarks {
			t.Marks = append(t.Marks, mark.Testified{Member: to, Signed: h.Bytes})
		}
	}
	if l := n.links[to]; l != nil {
		if n.known[to].version != frame.Oldest {
			l.drop(frame.Witness)
			l.urgent(n.frame(frame.Witness, n.check.Round, t.Append(nil)))
		}
		return
	}
	n.courier.Send(to, n.frame(frame.Witness, n.check.Round, t.Append(nil)).frame)
}

// exchange shows others who hear the same members the marks of those, in turns: two for
// each member at every time. Node.mu is held.
func (w *witness) exchange(round uint64) {
	n := w.n
	if !n.cfg.marks() || round%mark.Compared != 0 {
		return
	}
	turn := int(round / mark.Compared)
	to := map[agent.ID][]mark.Testified{}
	for _, l := range n.order {
		shown := n.known[l.id].Shown()
		if l.mail == nil || shown == nil {
			continue
		}
		var hearers []agent.ID
		for _, o := range n.cfg.Graph.Out(l.id) {
			if o.ID != n.cfg.Self && o.ID != l.id {
				hearers = append(hearers, o.ID)
			}
		}
		for k := range min(2, len(hearers)) {
			i := hearers[(turn+k)%len(hearers)]
			if len(to[i]) < mark.MostMarks {
				to[i] = append(to[i], mark.Testified{Member: l.id, Signed: shown.Bytes})
			}
		}
	}
	for i := range n.known {
		id, last := agent.ID(i), &n.known[i].Last
		back := last.Bytes != nil && n.links[id] == nil && n.anew(id, &last.Mark)
		if marks := to[id]; marks != nil || back {
			n.testify(id, marks, false)
		}
	}
}

// compare holds a member's mark against those that came before. A proof is returned once.
// Node.mu is held.
func (w *witness) compare(i agent.ID, h *mark.Signed) *mark.Proof {
	n := w.n
	a := &n.known[i]
	old := a.Contradiction(&h.Mark)
	if old == nil || a.lied {
		return nil
	}
	a.lied = true
	n.cfg.Log.Error("a peer gave one round two contents: it lies, or two processes have its key", "peer",
		n.name(i), "round", h.Sent)
	if n.cfg.DropLiars {
		if l := n.links[i]; l != nil {
			l.queue = nil
			until := "the run ends, or an amendment of the roster removes it: rounds wait for it"
			switch {
			case n.cfg.Missing == Proceed:
				until = "the run ends: rounds go on without it"
			case !n.pace.waits():
				until = "the run ends: wakes go on with what it sent before"
			}
			n.cfg.Log.Error("messages of a peer are refused, as the owner's policy says", "peer", n.name(i),
				"until", until)
		}
	}
	n.signal()
	origin := n.cfg.origin()
	return &mark.Proof{
		Run:    hex.EncodeToString(origin[:]),
		Name:   n.name(i),
		Member: i,
		Marks:  [2]string{hex.EncodeToString(old.Bytes), hex.EncodeToString(h.Bytes)},
	}
}

// accuse hands a proof to whoever keeps it.
func (w *witness) accuse(p *mark.Proof) {
	if tell := w.n.cfg.OnProof; p != nil && tell != nil {
		tell(p)
	}
}
