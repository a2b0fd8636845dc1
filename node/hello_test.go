package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
)

// A neighbor says hello while a restored member makes what it is to send in its new
// generation. The neighbor was sent what the member had sent before, refused that for
// good, and got nothing after it: where the two had no link in one of two rounds, both
// waited forever. Now it gets nothing of a former generation.
func TestAHelloWhileARestoredMemberGoesOn(t *testing.T) {
	for name, o := range paces(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { greetedMeanwhile(t, name, o) })
		})
	}
}

func greetedMeanwhile(t *testing.T, name string, o nodetest.Options) {
	const member, neighbor = 1, agent.ID(2)
	r := &restored{}
	o.Rounds = 60
	o.Change = r.slow(member, func(i int, c *node.Config) {
		c.Patience = 10 * time.Minute
		c.OnProof = func(p *mark.Proof) { t.Errorf("a proof that %s has lied", p.Name) }
		if name == node.Proceed {
			c.Missing = node.Proceed
		}
		if i == member {
			c.Transport = &forward{c.Transport, t, neighbor, 0}
		}
	}, o.Change)
	r.running = prepare(t, o, openMemory)
	for i := range r.nodes {
		r.start(t, i)
	}
	time.Sleep(10 * time.Second)
	r.halt(member)
	snapshot, then := r.files(member), r.led[member].Head().Seq
	r.start(t, member)
	time.Sleep(15 * time.Second)
	r.halt(member)
	r.put(member, snapshot)
	r.rollBack(t, member, then)
	greeted := false
	r.rejoining = map[int]func(){member: func() {
		r.halt(int(neighbor))
		r.start(t, int(neighbor))
		time.Sleep(2 * time.Second)
		greeted = true
	}}
	r.start(t, member)
	r.wait(t)
	if !greeted && name != "meetings" { // where it may have met nobody
		t.Error("the member was not told where it was: this test shows nothing")
	}
}

// forward is a way on which one neighbor is sent nothing of a generation before one that
// it was sent something of.
type forward struct {
	node.Transport
	t        *testing.T
	neighbor agent.ID
	last     uint64 // of the link's goroutine
}

func (f *forward) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if g := node.MarkOf(raw).Generation; to == f.neighbor {
		if g < f.last {
			f.t.Errorf("a frame of kind %d is of generation %d, after one of %d", frame.Kind(raw[5]), g,
				f.last)
		}
		f.last = g
	}
	return f.Transport.Send(ctx, to, raw)
}
