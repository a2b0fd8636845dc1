package node

import (
	"context"
	"time"

	"sotto/agent"
)

// courier takes frames to members that are no neighbors, one attempt each: what they hold
// is of use and not needed.
type courier chan parcel

type parcel struct {
	to    agent.ID
	frame []byte
}

const mostParcels = 64 // that wait for their attempt

// send takes a frame on, unless too many wait.
func (c courier) send(to agent.ID, frame []byte) {
	select {
	case c <- parcel{to, frame}:
	default:
	}
}

// run sends until ctx ends.
func (c courier) run(ctx context.Context, t Transport) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-c:
			sending, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = t.Send(sending, p.to, p.frame) // who is not there needs no word
			cancel()
		}
	}
}
