package node

import (
	"errors"

	"sotto/agent"
	"sotto/node/mark"
)

// ErrChange says that a node has completed the last round under its roster: make a node
// for the next one, with the same store.
var ErrChange = errors.New("node: the members change")

// ErrEarly says that a node without a state was started with a roster that is to follow
// the one that holds.
var ErrEarly = errors.New("node: this roster does not hold yet")

// ErrRemoved says that the run goes on without this member.
var ErrRemoved = errors.New("node: the run goes on without this member")

// ErrPassed says that an amendment came too late: its round is past, or about to be.
var ErrPassed = errors.New("node: the round at which the members change is past")

// errOnward ends a wait: neighbors have gone on to the next roster.
var errOnward = errors.New("node: neighbors have gone on to the next roster")

// Epochs are what a node knows of the run's rosters beside its own. The zero value is a
// run with one.
type Epochs struct {
	Origin [32]byte // digest of the run's first roster; zero: Run
	Number int      // of the present roster, 0 for the first
	Since  *Since   // nil: the present roster is the first
	// Next is an amendment that was taken on before; nil: none.
	Next *Amendment
	// OnAmendment reads and checks an amendment that a member has sent; nil: there are
	// none.
	OnAmendment func(text []byte) (*Amendment, error)
	// KeepAmendment stores one that the node takes on: when it returns, it will be Next
	// in every later process. It must not call the node. nil: nothing is stored.
	KeepAmendment func(a *Amendment) error
	// Earlier returns, for an earlier roster of the run, the amendment that followed it
	// and this member's number before that; nil: unknown, or this member was not there.
	Earlier func(run [32]byte) (text []byte, self agent.ID)
}

// Since says how the present roster came of the one before.
type Since struct {
	Previous [32]byte      // its digest
	Round    uint64        // how many rounds were complete
	Was      []int         // each member's number then; -1: it is new
	Holds    bool          // this member's node under the roster before has ended with ErrChange
	Formers  []mark.Former // this member's keys before, over all rosters that it knows
}

// Amendment is a roster that is to follow the present one.
type Amendment struct {
	Run     [32]byte // its digest
	Round   uint64   // how many rounds are then complete
	Leave   []bool   // members of the present roster that are not in it
	Gone    []bool   // those of them for whom nobody waits any more
	Removed bool     // this member is not in it
	Text    []byte   // what the others are sent
}
