package owner

import (
	"fmt"
	"slices"

	"sotto/config"
	"sotto/node"
	"sotto/node/roster"
)

// follow hands the node the amendment that the owner's roster file has by now. One that
// cannot be taken on changes nothing: the roster that holds goes on, at a start as well.
func (m *Membership) follow(n *node.Node) {
	a, err := m.proposal()
	if err == nil && a != nil {
		err = n.Amend(a)
	}
	if err != nil {
		next := "sign an amendment of that one for a later round, or put that one back"
		if m.Roster.Epoch != nil && m.history.now == 0 && m.history.round == 0 {
			next = "this member is new and has not begun: for another amendment start it with another --state"
		}
		m.Node.Log.Warn("the roster file is not followed, the former roster holds", "holds", m.Holds(),
			"next", next, "error", err)
	}
}

// Holds names the roster under which the member takes part.
func (m *Membership) Holds() string {
	d := m.Roster.Digest()
	return fmt.Sprintf("epoch %d, roster %x", m.Roster.Number(), d[:4])
}

// proposal reads the owner's roster file: an amendment of the present roster that is not
// stored; nil: a roster that is known.
func (m *Membership) proposal() (*node.Amendment, error) {
	given, err := roster.Read(m.from.Roster)
	if err != nil {
		return nil, err
	}
	stored, err := readLineage(m.from.State)
	if err != nil {
		return nil, err
	}
	for _, known := range append(stored.rosters, m.Roster) {
		if known.Digest() == given.Digest() {
			return nil, nil
		}
	}
	for _, next := range stored.rosters {
		if next.Number() > m.Roster.Number() && given.Follows(next) == nil {
			return nil, &config.Error{File: m.from.Roster, Key: "epoch.number",
				Found: fmt.Sprint(given.Number()),
				Allowed: fmt.Sprintf("%d; it is looked at again when epoch %d begins, at round %d",
					m.Roster.Number()+1, next.Number(), next.Epoch.Round)}
		}
	}
	return m.checkAmendment(m.from.Roster, given)
}

// Proposed says what a start would make of the owner's roster file: at which round the
// amendment in it begins; 0: it has none. The error is why a node that is started now
// does not follow it, and goes on under the roster that Holds names.
func (m *Membership) Proposed() (round uint64, err error) {
	if m.history.given == nil {
		return 0, nil
	}
	a, err := m.proposal()
	next := m.history.next()
	switch {
	case err != nil || a == nil:
		return 0, err
	case next != nil:
		d := next.Digest()
		return 0, config.Bad("epoch", fmt.Sprintf("another amendment, %x", a.Run[:4]),
			fmt.Sprintf("%x, which members have taken on", d[:4]))
	case m.Node.Missing != node.Proceed && !a.Removed && a.Round <= m.history.round+uint64(m.Roster.Size):
		return 0, a.Passed(m.history.round)
	}
	return a.Round, nil
}

// left refuses the state of who has left the run, where a later roster is given.
func (m *Membership) left() error {
	next, at := m.history.next(), m.history.round
	if next == nil || m.history.given == nil || slices.Contains(next.Was(m.Roster), int(m.Self)) ||
		at < next.Epoch.Round && !slices.Contains(next.Epoch.Gone, m.Name()) {
		return nil
	}
	return &config.Error{Key: "--state",
		Found:   fmt.Sprintf("%s, which has left the run at round %d", m.from.State, at),
		Allowed: "another one, with which a member that returns begins, and the same ledger"}
}
