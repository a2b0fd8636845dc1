package owner

import (
	"time"

	"sotto/live/event"
	"sotto/node"
	"sotto/privacy/ledger"
)

// InWords is what a node says of its members, after a first look at another moment.
func InWords(s *node.Status, first, now time.Time) map[string]event.Member {
	t := &teller{to: event.NewOwned(), members: map[string]event.Member{}, waits: map[string]time.Time{},
		began: first, looked: now}
	t.status(s, first)
	t.status(s, now)
	return t.members
}

// OtherClocks is what a node says of its own clock by those of its neighbors.
var OtherClocks = otherClocks

// ReadAgain reads a member's policy again, as a daemon does that is asked to.
func ReadAgain(m *Membership, l *ledger.File) error { return ReadAgainAs(m, l, Reload{}) }

// ReadAgainAs is ReadAgain of a daemon that says how.
func ReadAgainAs(m *Membership, l *ledger.File, r Reload) error {
	return (&process{Daemon: &Daemon{Membership: m, Reload: r}, ledger: l}).reload()
}

// Whole reports whether a node may leave out no round of an owner's run.
var Whole = whole

// KeepAmendment takes an amendment in, as a daemon does.
var KeepAmendment = (*Membership).keepAmendment

// Follow hands a node the amendment in the owner's roster file, as a daemon does.
var Follow = (*Membership).follow

// SplitBy is the error of a node that waits for neighbors with another roster.
var SplitBy = splitBy
