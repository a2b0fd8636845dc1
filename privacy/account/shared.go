package account

import (
	"sync"
	"sync/atomic"
)

// shared holds one of each distinct event that Shared was given; events are immutable, so
// that nothing tells which.
var (
	shared      sync.Map // Key to Event
	sharedCount atomic.Int64
)

// maxShared bounds what is remembered: runs with a clip or noise of its own for every
// query have as many events.
const maxShared = 1 << 14

// Shared returns an event that is equal to ev and the same for all equal ones, as far as
// it remembers them: comparing two is then comparing pointers, and a million agents that
// release alike hold one event.
func Shared(ev Event) Event {
	if ev.body == nil {
		return ev
	}
	key := ev.Key()
	if v, ok := shared.Load(key); ok && key != "" {
		return v.(Event)
	}
	if sharedCount.Load() >= maxShared {
		return ev
	}
	v, loaded := shared.LoadOrStore(key, ev)
	if !loaded {
		sharedCount.Add(1)
	}
	return v.(Event)
}
