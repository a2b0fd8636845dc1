package node_test

import (
	"fmt"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy"
	"sotto/tensor"
)

// once abstains from the answers of one round.
type once struct {
	node.Gate
	round, now uint64
	answered   *[]uint64
}

func (o *once) Begin(round uint64, live []agent.Neighbor) {
	o.now = round
	o.Gate.Begin(round, live)
}

func (o *once) Answer(q *agent.Query, dst tensor.Vec) error {
	if o.now == o.round {
		return fmt.Errorf("%w: round %d", privacy.ErrAbstain, o.now)
	}
	*o.answered = append(*o.answered, o.now)
	return o.Gate.Answer(q, dst)
}

// A node that abstains from an answer mixes in that round, and answers in the next: its
// budget is not spent.
func TestAbstaining(t *testing.T) {
	var answered []uint64
	r := prepare(t, nodetest.Options{
		Factory: factory(t, "dsgd"),
		Graph:   "complete",
		Agents:  1,
		Rounds:  5,
		Change: func(_ int, c *node.Config) {
			c.Gate = &once{Gate: c.Gate, round: 2, answered: &answered}
		},
	}, openMemory)
	r.start(t, 0)
	r.wait(t)
	if want := []uint64{0, 1, 3, 4}; !slices.Equal(answered, want) {
		t.Errorf("answers in rounds %v, want %v", answered, want)
	}
	if s := r.nodes[0].Status(); s.Exhausted || !s.Finished {
		t.Errorf("status %+v", s)
	}
}
