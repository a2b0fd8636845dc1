package node

import (
	"sync/atomic"
	"time"

	"sotto/agent"
	"sotto/tensor"
)

// MaxPad bounds the length of padded answers.
const MaxPad = time.Hour

// ConstantTimeGate is a gate whose answers all take equally long, so that when a message
// leaves does not tell how many records were drawn for it. An answer that takes longer
// than Pad is padded to the next multiple of it: a pad has to be long enough for the
// largest batch that may come, on a busy machine too.
type ConstantTimeGate struct {
	Gate
	MinAnswerTime time.Duration // 0: none
	over          atomic.Uint64
}

// Answer implements Gate. The time of a refusal is padded as well.
func (p *ConstantTimeGate) Answer(q *agent.Query, dst tensor.Vec) error {
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
	time.Sleep(pads*p.MinAnswerTime - took)
	return err
}

// Over returns how many answers of this process have taken longer than Pad. It depends on
// private data: it is for the owner alone.
func (p *ConstantTimeGate) Over() uint64 { return p.over.Load() }
