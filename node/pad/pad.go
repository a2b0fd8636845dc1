// Package pad makes answers take equally long, so that the time of a message tells
// nothing of the records behind it.
package pad

import (
	"sync/atomic"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/tensor"
)

// Longest is the largest MinAnswerTime that owners may ask for.
const Longest = time.Hour

// Gate is a gate whose answers all take equally long, so that when a message leaves does
// not tell how many records were drawn for it. An answer that takes longer than
// MinAnswerTime is padded to the next multiple of it: a pad has to be long enough for the
// largest batch that may come, on a busy machine too. Where no processor is free for this
// process, the scheduler may still add to an answer by how much it has worked.
type Gate struct {
	node.Gate
	MinAnswerTime time.Duration // 0: none
	over          atomic.Uint64
}

// Padded reports whether answers wait.
func (p *Gate) Padded() bool { return p.MinAnswerTime > 0 }

// Answer implements node.Gate. The time of a refusal is padded as well.
func (p *Gate) Answer(q *agent.Query, dst tensor.Vec) error {
	if p.MinAnswerTime <= 0 {
		return p.Gate.Answer(q, dst)
	}
	began := time.Now()
	err := p.Gate.Answer(q, dst)
	took := time.Since(began)
	pads := max(1, (took+p.MinAnswerTime-1)/p.MinAnswerTime)
	if pads > 1 {
		p.over.Add(1)
	}
	waitUntil(began.Add(pads * p.MinAnswerTime))
	return err
}

// spin is the last part of a wait, which is not slept: a scheduler lets whoever has
// worked longer wait longer for the processor after a sleep.
const spin = time.Millisecond

// waitUntil returns at the time, or shortly after it on a machine with no free processor.
func waitUntil(at time.Time) {
	time.Sleep(time.Until(at) - spin)
	still := 0
	for now := time.Now(); now.Before(at); {
		next := time.Now()
		if still++; next != now {
			now, still = next, 0
		}
		if still == 1000 { // a clock that stands still while anybody works, as in tests
			time.Sleep(at.Sub(now))
			return
		}
	}
}

// Over returns how many answers of this process have taken longer than MinAnswerTime. It
// depends on private data: it is for the owner alone.
func (p *Gate) Over() uint64 { return p.over.Load() }
