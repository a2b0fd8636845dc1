package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/mark"
)

// RoundReport says who took part in a round, or what a wake took in.
type RoundReport struct {
	Round     uint64     `json:"round"`
	Missing   []agent.ID `json:"missing,omitempty"`
	OneSided  int        `json:"one_sided,omitempty"` // of the missing, those that had this node's frame
	Skipped   bool       `json:"skipped,omitempty"`   // the neighbors had moved on: no step, no charge
	Exhausted bool       `json:"exhausted,omitempty"` // a query was not answered
	Woke      time.Time  `json:"woke,omitzero"`       // when the clock rang
	Called    bool       `json:"called,omitempty"`    // a neighbor's wake, at which it met this node
	// by a clock: the broadcasts that the wake took in, by sender; in pairs: whom it met
	Heard []Heard `json:"heard,omitempty"`
}

// Heard is one broadcast: that of the sender's wake number Round, counted from 1; 0 is
// that of its start. In pairs it is a meeting: Round is its number, counted from 0, among
// the wakes of the one who asked.
type Heard struct {
	From  agent.ID `json:"from"`
	Round uint64   `json:"round"`
}

// PeerState is what a node knows about a neighbor.
type PeerState uint8

const (
	// Unknown: nothing was heard since this process began.
	Unknown PeerState = iota
	// Here: it has sent or taken a frame since the last deadline.
	Here
	// Late: it can be reached or was, and its frame did not come by the deadline.
	Late
	// Gone: the last attempt to send to it failed.
	Gone
	// Done: it has finished and needs nothing more.
	Done
)

// PeerStates are the names of the states, in order.
var PeerStates = [...]string{"unknown", "here", "late", "gone", "done"}

func (s PeerState) String() string {
	if int(s) >= len(PeerStates) {
		return fmt.Sprintf("PeerState(%d)", uint8(s))
	}
	return PeerStates[s]
}

// MarshalText implements encoding.TextMarshaler. A state beyond the list is an error.
func (s PeerState) MarshalText() ([]byte, error) {
	if int(s) >= len(PeerStates) {
		return nil, config.Bad("state", uint8(s), fmt.Sprintf("0 to %d", len(PeerStates)-1))
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *PeerState) UnmarshalText(b []byte) error {
	i := slices.Index(PeerStates[:], string(b))
	if i < 0 {
		return config.Bad("state", string(b), strings.Join(PeerStates[:], ", "))
	}
	*s = PeerState(i)
	return nil
}

// PeerStatus is one neighbor's.
type PeerStatus struct {
	Name  string    `json:"name"`
	State PeerState `json:"state"`
	Since time.Time `json:"since"` // of the state
	Round uint64    `json:"round"` // the latest that it has shown
	// Awaited: its frame of the present round has not come.
	Awaited bool `json:"awaited,omitempty"`
	// of its own ledger, when it has finished
	Attestation *mark.Attestation `json:"claim,omitempty"`
	Ledger      *mark.Seen        `json:"ledger,omitempty"` // its head, in the newest mark
	Fault       string            `json:"fault,omitempty"`  // the last one, until it is heard again
	// seconds by which its clock is ahead of this machine's; 0: at most 5, or not known
	ClockAhead float64 `json:"clock_ahead,omitempty"`
	Doubts
}

// Doubts are what a member's own marks and frames say against it.
type Doubts struct {
	RolledBack   uint64 `json:"rolled_back,omitempty"`   // times that it was, or said to be
	TwoProcesses bool   `json:"two_processes,omitempty"` // take part with its key
	TwoContents  bool   `json:"two_contents,omitempty"`  // of one round, for different members
	Fork         string `json:"other_roster,omitempty"`  // it follows or is to, or "another"
}

// anotherRoster stands for one whose digest is not known.
const anotherRoster = "another"

// Status is what a node tells its owner. All of it is public, and no duration in it is
// that of a single step.
type Status struct {
	Name string `json:"name"`
	Advance
	Process
	Readiness
	Counts checkpoint.Counts `json:"counts"`
	// number of the last record of the ledger that is stored
	Charges uint64       `json:"last_ledger_record"`
	Peers   []PeerStatus `json:"peers"`
	Privacy *Spent       `json:"privacy,omitempty"` // of the owner's ledger, as Config.Spent gives it
}

// Advance is how far a node has come.
type Advance struct {
	Pace      string `json:"pace"`   // InRounds, InWakes or InVisits
	Round     uint64 `json:"round"`  // rounds, own wakes or visits of tokens that are complete
	Rounds    uint64 `json:"rounds"` // of the run; 0 for visits, which nobody knows before
	Exhausted bool   `json:"exhausted"`
	Finished  bool   `json:"finished"`
	// Epoch is how often the members have changed, and Change the round after which they
	// will again; 0: nothing is agreed.
	Epoch  int    `json:"epoch,omitempty"`
	Change uint64 `json:"members_change_after,omitempty"`
}

// Process is what a node says about this process of it.
type Process struct {
	Failure string    `json:"failure,omitempty"`
	Began   time.Time `json:"began"`
	// Last is when the last step of this process was complete, to a second; zero: none
	// was.
	Last time.Time `json:"last_step,omitzero"`
	// Ended is when this process stopped taking part; zero: it has not. A process that
	// was killed never says so.
	Ended time.Time `json:"ended,omitzero"`
	// expected, from a mean over 16 rounds or more, to two digits; 0: not known
	Left Seconds `json:"seconds_left"`
}

// What a node counts.
const (
	InRounds = "rounds" // steps that wait for the neighbors' messages
	InWakes  = "wakes"  // steps when the node's own turn comes, or its clock rings
	InVisits = "visits" // steps with a token
)

// Spent is what an owner's data have cost so far, over all runs.
type Spent struct {
	Epsilon  float64 `json:"epsilon"` // upper bound
	Delta    float64 `json:"delta"`
	Lifetime float64 `json:"lifetime_epsilon"`
	Records  uint64  `json:"ledger_records"`
}

// Seconds is a duration that people read.
type Seconds float64

// awaited reports whether the round waits for a neighbor's frame. Node.mu is held.
func awaited(n *Node, l *link) bool {
	p, rounds := n.pace.(*barrier)
	return rounds && n.started && !n.check.Finished && l.mail != nil && !l.mail.Now.Full && !l.forgone &&
		!p.silent(l)
}

// Status returns the present state.
func (n *Node) Status() Status {
	var spent *Spent
	if n.cfg.Spent != nil {
		spent = n.cfg.Spent()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &n.check
	unit, total, known := n.pace.counts()
	s := Status{
		Name:    n.name(n.cfg.Self),
		Advance: Advance{unit, c.Round, total, c.Exhausted, c.Finished, n.cfg.Number, n.until},
		Process: Process{Failure: n.failure, Began: n.began, Last: n.last.Truncate(time.Second)},
		Counts:  c.Counts,
		Charges: c.Head.Seq,
		Privacy: spent,
	}
	if known && !c.Finished {
		s.Left = Seconds(n.progress.Left(total - c.Round).Seconds())
	}
	for _, l := range n.order {
		s.Peers = append(s.Peers, PeerStatus{
			Name:        n.name(l.id),
			State:       l.state,
			Since:       l.since,
			Round:       l.round,
			Awaited:     awaited(n, l),
			Attestation: l.attestation,
			Ledger:      n.known[l.id].Last.Seen(),
			Fault:       l.fault,
			ClockAhead:  n.known[l.id].clock.Ahead.Seconds(),
			Doubts:      n.known[l.id].doubts(),
		})
	}
	s.Readiness = readiness(n, &s, time.Now())
	return s
}
