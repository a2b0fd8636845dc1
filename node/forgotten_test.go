package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/node"
)

// Three of four members in a ring are restored from one night's backup. The fourth tells
// its two neighbors where they were, and nobody is left who could tell the one between
// them, which has charged more than its ledger has. Where each round waits for both of
// them it learns so from how far they are, and ends. Elsewhere it cannot know, and says
// that its figure may lack charges.
func TestAMemberThatAllNeighborsHaveForgotten(t *testing.T) {
	for name, o := range paces(t) {
		if name == "directed" || name == "meetings" {
			continue // some who were not restored hear it, or had not gone on
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &restored{}
				o.Rounds = 60
				o.Change = r.slow(1, func(_ int, c *node.Config) {
					c.Patience, c.OnRollback = time.Hour, nil
					if name == node.Proceed {
						c.Missing = node.Proceed
					}
				}, o.Change)
				r.running = prepare(t, o, openMemory)
				for i := range r.nodes {
					r.start(t, i)
				}
				each := func(do func(i int)) {
					for i := range 3 {
						do(i)
					}
				}
				time.Sleep(10 * time.Second)
				var files [3][2][]byte
				var then [3]uint64
				each(r.halt)
				each(func(i int) {
					files[i], then[i] = r.files(i), r.led[i].Head().Seq
					r.start(t, i)
				})
				time.Sleep(15 * time.Second)
				each(r.halt)
				each(func(i int) {
					r.put(i, files[i])
					r.rollBack(t, i, then[i])
				})
				each(func(i int) { r.start(t, i) })
				time.Sleep(5 * time.Second)
				r.halt(1) // what it has noticed it knows when it is started again
				r.start(t, 1)
				switch err := <-r.done[1]; {
				case name == "wait" || name == "tracking":
					for _, want := range []string{"stands at round 1", "agent", "this one's messages"} {
						if !errors.Is(err, node.ErrBehind) || !strings.Contains(fmt.Sprint(err), want) {
							t.Errorf("it ends with %v, want %q", err, want)
						}
					}
				case err != nil:
					t.Errorf("it ends with %v", err)
				case !r.nodes[1].Astray():
					t.Error("it says that its ledger has all its charges")
				}
				for _, i := range []int{0, 2, 3} {
					r.halt(i)
				}
				if r.nodes[3].Astray() { // its neighbors had told it all before
					t.Error("who was not restored says that charges may lack")
				}
			})
		})
	}
}
