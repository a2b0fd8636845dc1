package nodetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/rng"
)

// Faulty is a transport over links that lose, repeat, delay and damage frames, with fixed
// probabilities.
type Faulty struct {
	node.Transport
	Lose   float64       // the frame does not arrive
	Unsure float64       // it arrives, and the sender does not learn it
	Repeat float64       // it arrives twice
	Damage float64       // one bit is flipped on the way
	Delay  time.Duration // at most, before it arrives
	// Down, when not nil, says whether the link to a peer is down now.
	Down func(to agent.ID) bool

	mu     sync.Mutex
	chance *rng.Stream
}

// NewFaulty returns t with no faults yet; seed decides what its probabilities do.
func NewFaulty(t node.Transport, seed uint64) *Faulty {
	return &Faulty{Transport: t, chance: rng.Public(seed, "faulty links")}
}

func (f *Faulty) draw(p float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chance.Float64() < p
}

func (f *Faulty) below(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.chance.Below(uint64(n)))
}

// Send implements node.Transport.
func (f *Faulty) Send(ctx context.Context, to agent.ID, frame []byte) error {
	if f.Delay > 0 {
		time.Sleep(time.Duration(f.below(int(f.Delay))))
	}
	if f.Down != nil && f.Down(to) || f.draw(f.Lose) {
		return fmt.Errorf("%w: lost on the way", node.ErrUnreachable)
	}
	if f.draw(f.Damage) {
		frame = slices.Clone(frame)
		bit := f.below(8 * len(frame))
		frame[bit/8] ^= 1 << (bit % 8)
	}
	err := f.Transport.Send(ctx, to, frame)
	if f.draw(f.Repeat) {
		err = f.Transport.Send(ctx, to, frame)
	}
	if f.draw(f.Unsure) {
		return fmt.Errorf("%w: no answer", node.ErrUnreachable)
	}
	return err
}
