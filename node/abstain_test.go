package node_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/mark"
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

// rounds notes the rounds of answers that were given, over several lives of a node. Up to
// the round of a word of it that it was told it abstains, as ledgers of shared noise do.
type rounds struct {
	node.Gate
	now   uint64
	given map[uint64]int
	from  *uint64
}

func (r *rounds) Begin(round uint64, live []agent.Neighbor) {
	r.now = round
	r.Gate.Begin(round, live)
}

func (r *rounds) Answer(q *agent.Query, dst tensor.Vec) error {
	if r.now < *r.from {
		return privacy.ErrAbstain
	}
	err := r.Gate.Answer(q, dst)
	if err == nil {
		r.given[r.now]++
	}
	return err
}

// Noise that is shared with neighbors serves once. Of a restored member's two neighbors
// only one knows how far it was, and that one is away: it waits for that one's word under
// proceed too, and answers no round again.
func TestSharedNoiseServesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restored{}
		given, from := map[uint64]int{}, uint64(0)
		o := nodetest.Options{Factory: factory(t, "dsgd"), Graph: "complete", Agents: 3, Rounds: 150}
		o.Change = r.slow(1, func(i int, c *node.Config) {
			c.Missing, c.Shares = node.Proceed, true
			if i == 1 {
				c.Gate = &rounds{Gate: c.Gate, given: given, from: &from}
				told := c.OnRollback
				c.OnRollback = func(m *mark.Mark, run, others uint64) error {
					from = max(from, m.Round+1)
					return told(m, run, others)
				}
			}
		})
		r.running = prepare(t, o, openMemory)
		for i := range r.nodes {
			r.start(t, i)
		}
		time.Sleep(10 * time.Second)
		r.halt(1)
		snapshot, then := r.files(1), r.led[1].Head().Seq
		r.start(t, 1)
		time.Sleep(2 * time.Second)
		r.halt(0)
		time.Sleep(30 * time.Second)
		r.halt(1)
		r.halt(2)
		former := len(given)
		r.put(1, snapshot)
		r.rollBack(t, 1, then)
		r.start(t, 0)
		r.start(t, 1)
		time.Sleep(40 * time.Second)
		if len(given) != former {
			t.Errorf("%d answers before the third member's word", len(given)-former)
		}
		r.start(t, 2)
		r.wait(t)
		if from == 0 || len(given) <= former {
			t.Errorf("told of round %d, answers in %d rounds and %d before", from, len(given), former)
		}
		for round, times := range given {
			if times > 1 {
				t.Errorf("round %d: %d answers", round, times)
			}
		}
	})
}
