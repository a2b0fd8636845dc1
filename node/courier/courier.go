// Package courier takes frames to members that are no neighbors, one attempt each: what
// they hold is of use and not needed.
package courier

import (
	"context"
	"time"

	"sotto/agent"
)

// A Courier holds the frames that wait for their attempt.
type Courier chan parcel

type parcel struct {
	to    agent.ID
	frame []byte
}

// most is how many wait.
const most = 64

// New makes one. Run takes the frames on.
func New() Courier { return make(Courier, most) }

// Send takes a frame on, unless 64 wait.
func (c Courier) Send(to agent.ID, frame []byte) {
	select {
	case c <- parcel{to, frame}:
	default:
	}
}

// Run sends until ctx ends, each frame for ten seconds at most.
func (c Courier) Run(ctx context.Context, send func(ctx context.Context, to agent.ID, frame []byte) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-c:
			sending, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = send(sending, p.to, p.frame) // who is not there needs no word
			cancel()
		}
	}
}
