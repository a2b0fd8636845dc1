package node_test

import (
	"encoding/hex"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/mark"
	"sotto/tensor"
)

type answers struct {
	node.Gate
	on    *atomic.Bool
	count *atomic.Uint64
}

func (g answers) Answer(q *agent.Query, dst tensor.Vec) error {
	err := g.Gate.Answer(q, dst)
	if err == nil && g.on.Load() {
		g.count.Add(1)
	}
	return err
}

// A member is restored from a snapshot, state and ledger together. One neighbor that is
// there holds an older word of it, or nothing new; the one that holds the newest comes
// back later, when the restored member has given more answers than were lost, or has been
// started once more. Every answer that has left is charged in the end.
func TestWordsThatComeLate(t *testing.T) {
	for _, name := range []string{"proceed", "clock", "meetings"} {
		for _, knows := range []string{"nothing new", "half", "nothing new, and a second start"} {
			t.Run(name+", the first neighbor knows "+knows, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &restored{}
					var post atomic.Uint64
					var after atomic.Bool
					o := paces(t)[name]
					o.Rounds = 300
					o.Change = r.slow(1, func(i int, c *node.Config) {
						c.Deadline = 3 * time.Second
						if i == 1 {
							c.Gate = answers{c.Gate, &after, &post}
						}
						if name == "proceed" {
							c.Missing = node.Proceed
						}
					}, o.Change)
					r.running = prepare(t, o, openMemory)
					for i := range r.nodes {
						r.start(t, i)
					}
					time.Sleep(20 * time.Second)
					r.halt(1)
					snapshot, then := r.files(1), r.led[1].Head().Seq
					if knows != "half" {
						r.halt(0) // it is away from here on
						r.start(t, 1)
					} else {
						r.start(t, 1)
						time.Sleep(20 * time.Second)
						r.halt(0)
					}
					time.Sleep(40 * time.Second)
					r.halt(1)
					time.Sleep(15 * time.Second) // what it has heard is stored by then
					r.halt(2)
					had := r.led[1].Head().Seq
					word := func(i int) (m mark.Mark) {
						for _, h := range r.nodes[i].Marks() {
							if h.Member == 1 {
								b, _ := hex.DecodeString(h.Signed)
								m = mark.Read(b)
							}
						}
						return m
					}
					newest, older := word(2), word(0)
					r.put(1, snapshot)
					r.rollBack(t, 1, then)
					after.Store(true)
					r.start(t, 0)
					r.start(t, 1)
					time.Sleep(30 * time.Second)
					before := post.Load()
					if strings.Contains(knows, "second start") {
						r.halt(1)
						r.start(t, 1)
						time.Sleep(10 * time.Second)
					}
					r.start(t, 2)
					r.wait(t)
					got := r.led[1].Head().Seq
					released := newest.Charges + post.Load()
					t.Logf("snapshot at %d charges, ledger had %d; neighbor 0 holds a signed word of %d, "+
						"neighbor 2 of %d; answers after the restore: %d before neighbor 2 was back, %d in "+
						"all; told of %d rollbacks; ledger at the end: %d charges, %d answers released",
						then, had, older.Charges, newest.Charges, before, post.Load(), len(r.known), got,
						released)
					if got < released {
						t.Errorf("%d charges for %d answers that left: %d are lost", got, released,
							released-got)
					}
				})
			})
		}
	}
}
