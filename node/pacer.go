package node

import (
	"context"
	"fmt"

	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/mark"
)

// A pacer is how a node is driven: what makes it take its next step, what it takes in for
// it and what its neighbors get. Each way is one type with a file of its own, and New
// chooses one from the Config. Only a change of members, tokens and what a status says of
// rounds ask which it is:
//
//	barrier   rounds: a step when the frames of all in-neighbors are there
//	replay    recorded wakes: a step at the node's places in a list
//	ticker    wakes by the node's own clock
//	pairing   meetings of two, by the clock of the one who asks
//	visits    steps with a token
//
// The node keeps what all of them need: links to neighbors, the store, the algorithm with
// its gate, and the checkpoint with the ledger's head.
type pacer interface {
	// start steps the algorithm for the first time and stores what came of it. Run calls
	// it, unless there was a checkpoint, before anything but words of members about
	// themselves and each other is sent or taken in.
	start() error
	// next waits for what the next step needs, steps, stores and sends. Run calls it
	// until the checkpoint says that the node has finished.
	next(ctx context.Context) error
	// take takes in a frame of the pacer's own kinds, and refuses others. The transport
	// calls it, for each sender one frame at a time.
	take(l *link, f *frame.Frame) error
	// resend queues what a neighbor may lack, and the word that this node has finished.
	// hello: the neighbor has just started, and may not know how far this node is.
	// Node.mu is held.
	resend(l *link, hello bool)
	// release forgets what a neighbor that has finished does not need any more. Node.mu
	// is held.
	release(l *link)
	// attend does what a neighbor asks of a node that has finished; false: nobody asks.
	attend() (came bool, err error)
	// waits reports whether steps wait for neighbors. Where they do not, whoever takes
	// frames and sends none is still late.
	waits() bool
	// counts says what the checkpoint's Round counts, and how many there will be; not
	// known: it depends on chance.
	counts() (unit string, total uint64, known bool)
	// resume takes over the pacer's part of a checkpoint.
	resume(c *checkpoint.Checkpoint) error
}

// longest is how many rounds a member can have completed. Members' numbers of wakes, by a
// list or clocks of their own, differ, and those of visits depend on chance.
func longest(p pacer) uint64 {
	if unit, total, _ := p.counts(); unit == InRounds {
		return total
	}
	return mark.Most
}

// byWakes reports whether agents wake by a clock or a list.
func (c *Config) byWakes() bool { return c.Wakes != nil || c.Interval > 0 }

// newPacer chooses the way that the configuration asks for.
func newPacer(n *Node) (pacer, error) {
	switch c := &n.cfg; {
	case c.Holders != nil:
		return newVisits(n), nil
	case c.Wakes != nil:
		return newReplay(n)
	case c.Pairs:
		return newPairing(n), nil
	case c.Interval > 0:
		return newTicker(n), nil
	}
	return newBarrier(n), nil
}

// otherPace refuses a frame that no node of this run can have a use for.
func otherPace(f *frame.Frame) error {
	return fmt.Errorf("%w: kind %d is not of this run's pace", RefusedFrame, f.Kind)
}
