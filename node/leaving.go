package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sotto/node/frame"
)

// ends is why the node ends under the present roster: ErrChange or ErrRemoved.
func (h *change) ends() error {
	n := h.n
	if n.next.Removed {
		return fmt.Errorf("%w: it stands at round %d; roster %x has the other members. Who is added again "+
			"begins with another --state", ErrRemoved, n.check.Round, n.next.Run[:4])
	}
	return ErrChange
}

// part waits until no neighbor needs anything under the present roster: for those who
// leave as long as Linger, and where rounds go on without members for one deadline.
func (h *change) part(ctx context.Context) error {
	n := h.n
	end, limit := n.ends(), n.cfg.Patience
	switch {
	case n.next.Removed:
		limit = n.cfg.Linger
	case n.cfg.Missing == Proceed:
		limit = n.cfg.Deadline
	}
	timer, patient := time.NewTimer(limit), time.NewTimer(n.cfg.Linger)
	defer timer.Stop()
	defer patient.Stop()
	for lingered := false; ; {
		n.mu.Lock()
		waiting := 0
		for _, l := range n.order {
			behind := l.round < n.until
			switch {
			case l.forgone, l.onward, l.leaves && lingered:
			case lingered && n.vanished(l):
			case l.failed >= left && !behind, hasLeft(l) && n.outdone(): // it may have left already
			case behind, l.owes(frame.Progress):
				waiting++
			}
		}
		n.mu.Unlock()
		if waiting == 0 {
			return end
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patient.C:
			lingered = true
		case <-timer.C:
			if n.cfg.Missing == Wait && !n.next.Removed {
				return n.stalled()
			}
			return end
		case <-n.events:
		}
	}
}

// needless reports whether nothing that a neighbor knows is needed any more. Node.mu is
// held.
func (l *link) needless(n *Node) bool {
	return l.onward || l.forgone || l.leaves && n.check.Round >= n.until
}

// hasLeft reports whether a neighbor that leaves the run cannot be reached.
func hasLeft(l *link) bool { return l.leaves && l.state == Gone && l.failed >= left }

// parted reports whether a neighbor that leaves the run has done so: it cannot be
// reached, and this node was at the last round before the change, as others know. So it
// had completed that one: who leaves waits for it. Node.mu is held.
func (h *change) parted(l *link) bool {
	return hasLeft(l) && h.n.reminder != nil && h.n.reminder.Round+1 >= h.n.until
}

// outrun reports whether neighbors have gone on to the next roster before this node has
// completed its rounds: it was rolled back, or they went on without it, as one that has
// left. Node.mu is held.
func (h *change) outrun() bool {
	n := h.n
	switch i := int(n.cfg.Self); {
	case n.next == nil:
		return false
	case n.next.Removed && n.next.Gone[i]:
		return true
	case n.check.Round >= n.until: // its neighbors may still lack its last messages
		return false
	}
	return n.next.Removed && n.check.Round >= n.next.Round || n.outdone()
}

// outdone reports whether a neighbor has gone on to a later roster. Node.mu is held.
func (h *change) outdone() bool {
	return slices.ContainsFunc(h.n.order, func(l *link) bool { return l.onward })
}

// vanished reports whether a neighbor cannot be reached, and may have left by a later
// roster: others have gone on to one. Node.mu is held.
func (h *change) vanished(l *link) bool { return l.state == Gone && l.failed >= left && h.outdone() }

// before reports whether this node stands before the first round of its roster, where all
// wait for each other: it had come so far when the others went on, and was rolled back
// since, perhaps to where none of them has a later word of it. Node.mu is held.
func (h *change) before() bool {
	c := &h.n.cfg
	return c.Since != nil && c.Missing == Wait && c.Since.Was[c.Self] >= 0 && h.n.check.Round < c.Since.Round
}

// left is how many attempts to reach a neighbor that has finished must fail before it
// counts as having left: its answer to the last frame may be lost, and nobody is there to
// give another.
const left = 5

// linger serves neighbors until none needs anything more.
func (n *Node) linger(ctx context.Context) error {
	timer := time.NewTimer(n.cfg.Linger)
	defer timer.Stop()
	for {
		if came, err := n.pace.attend(); err != nil {
			return err
		} else if came { // neighbors still meet this node
			continue
		}
		n.mu.Lock()
		waiting, debt := 0, n.debt
		n.debt = nil
		for _, l := range n.order {
			if !l.finished || len(l.queue) > 0 && l.failed < left {
				waiting++
			}
		}
		n.mu.Unlock()
		if debt != nil { // a neighbor that is back late
			if err := n.repay(debt, true); err != nil {
				return err
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			n.cfg.Log.Warn("leaves although not every neighbor has finished", "neighbors", waiting)
			return nil
		case <-n.events:
		}
	}
}
