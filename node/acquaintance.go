package node

import (
	"cmp"
	"time"

	"sotto/node/clock"
	"sotto/node/mark"
)

// An acquaintance is what a node knows of a member by its marks. Node.mu guards it.
type acquaintance struct {
	version byte   // of its frames; 0: none has come
	backs   uint64 // how often it was rolled back
	twice   bool   // two processes take part with its key
	lied    bool   // one round had two contents
	odd
	fork  fork
	clock clock.Skew
	former
	told
	mark.History
}

// odd counts what may be in order, or not.
type odd struct {
	ledgers uint64 // how often it had another ledger than before
	chains  uint64 // how often it has begun a chain of claims anew, and said nothing else
}

// former is what a node keeps of a member's processes before the present one.
type former struct {
	retired uint64 // the one before it, or before a hello that was refused
	rival   uint64 // the process whose hello was refused
	until   uint64 // the latest round that the retired process may have reached
}

// fork has the other rosters of a member, see Doubts.Fork.
type fork struct {
	next, now string    // what is to follow, and what it follows, until it is heard again
	asked     time.Time // it was asked for an amendment that has not come here
}

func (a *acquaintance) doubts() Doubts {
	return Doubts{a.backs, a.twice, a.lied, cmp.Or(a.fork.next, a.fork.now)}
}

// told is what a neighbor's word of this node is worth.
type told struct {
	by     uint64 // the process that has given it to this process first
	since  uint64 // the neighbor's generation when this process began
	forgot bool   // the neighbor was rolled back before that, and after this node's state
}

// seldom counts what is seen again and again, and reports whether it is logged this time:
// the first, second, fourth and so on, so that nobody fills a log.
func seldom(times *uint64) bool {
	*times++
	return *times&(*times-1) == 0
}
