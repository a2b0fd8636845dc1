package node_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// A member is restored from a snapshot, once or twice, while a neighbor lacks what it had
// sent last. It gets that, and all end. Of one that is restored twice two processes have
// charged what the ledger lacks; the member learns so one after the other.
func TestANeighborGetsWhatARestoredMemberHadSent(t *testing.T) {
	for _, name := range []string{"wait", "tracking", "directed", "by chance", "proceed"} {
		for times := 1; times <= 2; times++ {
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { restoredBesideOneThatLacks(t, name, times) })
			})
		}
	}
}

func restoredBesideOneThatLacks(t *testing.T, name string, times int) {
	const member = 1
	r, ways, o := &restored{}, map[int]*apart{}, paces(t)[name]
	o.Rounds = 60
	o.Change = r.slow(member, func(i int, c *node.Config) {
		ways[i] = &apart{Transport: c.Transport}
		c.Transport, c.Patience = ways[i], 5*time.Minute
		if name == node.Proceed {
			c.Missing = node.Proceed
		}
	})
	r.running = prepare(t, o, openMemory)
	for i := range r.nodes {
		r.start(t, i)
	}
	time.Sleep(10 * time.Second)
	r.halt(member)
	snapshot, then := r.files(member), r.led[member].Head().Seq
	for range times {
		r.start(t, member)
		time.Sleep(8 * time.Second)
		ways[member].until.Store(time.Now().Add(25 * time.Second).UnixNano())
		time.Sleep(3 * time.Second)
		r.halt(member)
		r.put(member, snapshot)
		r.rollBack(t, member, then)
	}
	r.start(t, member)
	r.wait(t)
	if len(r.known) < times {
		t.Errorf("it was told %d times: this test shows nothing", len(r.known))
	}
}

// apart is a way on which messages do not come to member 2 until a time.
type apart struct {
	node.Transport
	until atomic.Int64 // in nanoseconds of Unix
}

func (l *apart) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if to == 2 && frame.Kind(raw[5]) == frame.Messages && time.Now().UnixNano() < l.until.Load() {
		return node.ErrUnreachable
	}
	return l.Transport.Send(ctx, to, raw)
}
