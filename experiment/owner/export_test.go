package owner

import (
	"time"

	"sotto/live/event"
	"sotto/node"
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
