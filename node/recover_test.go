package node_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/nodetest"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
	"sotto/tensor"
)

// What the gate keeps of former answers is recovered once the algorithm has its stored
// state, and told whether there was one; where that fails there is no node, and nothing
// was asked. A state that is damaged in both files is an error before that.
func TestRecover(t *testing.T) {
	r := start(t, nodetest.Options{Factory: ownState(t), Rounds: 5}, openMemory)
	r.wait(t)
	broken := errors.New("not recovered")
	again := func(look func(a agent.Algorithm, resumed bool) error) error {
		w := nodetest.NewWorld(t, nodetest.Options{Factory: ownState(t), Rounds: 5,
			Change: func(_ int, c *node.Config) {
				a := c.Algorithm
				c.Recover = func(resumed bool) error { return look(a, resumed) }
			}})
		_, store, err := w.Node(t, 0, r.trs[0], r.fs[0], r.led[0])
		if err == nil {
			store.Close()
		}
		return err
	}
	charges := r.led[0].Head().Seq
	end := func(a agent.Algorithm, resumed bool) error {
		queries := 0
		a.(interface{ Asked(func(*agent.Query)) }).Asked(func(q *agent.Query) { queries++ })
		if !resumed || queries != 5 {
			t.Errorf("resumed %v, with %d queries, want 5", resumed, queries)
		}
		return broken
	}
	if err := again(end); !errors.Is(err, broken) {
		t.Errorf("%v, want what the recovery says", err)
	}
	never := func(agent.Algorithm, bool) error { t.Error("recovered from a damaged state"); return nil }
	files := []string{"/state0/checkpoint", "/state0/checkpoint.2"}
	var before [2][]byte
	for k, name := range files {
		before[k] = r.fs[0].Content(name)
		bad := append([]byte(nil), before[k]...)
		bad[len(bad)/2] ^= 1
		r.fs[0].Put(name, bad)
	}
	if err := again(never); !errors.Is(err, checkpoint.ErrState) {
		t.Errorf("both files are damaged: %v, want ErrState", err)
	}
	for k, name := range files { // cut, as when a crash left the half of it
		r.fs[0].Put(name, before[k][:len(before[k])/2])
	}
	if err := again(never); !errors.Is(err, checkpoint.ErrState) {
		t.Errorf("both files are cut: %v, want ErrState", err)
	}
	for _, name := range files {
		if err := r.fs[0].Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := again(func(_ agent.Algorithm, resumed bool) error {
		if resumed {
			t.Error("resumed from nothing")
		}
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("%v, want what the recovery says", err)
	}
	if got := r.led[0].Head().Seq; got != charges {
		t.Errorf("%d charges, were %d", got, charges)
	}
}

// One of two agents with private iterates crashes at every change of its disk in turn:
// while it is made, between a charge and its answer, between the answer and the stored
// state, and while that is half on the disk, of which all, nothing or some sectors are
// left. Answers have no noise here. Whenever the crash comes, both end with the bits of a
// run without one, with one charge more than answers at most.
func TestCrashAtEveryChange(t *testing.T) {
	changes := crashOnce(t, 0, nil)
	if changes < 15 {
		t.Fatalf("%d changes of a disk in three rounds: this test shows nothing", changes)
	}
	for at := 1; at <= changes; at++ {
		parts := rng.Public(uint64(at), "parts")
		for _, keep := range []func(n int) int{
			func(int) int { return 0 }, func(n int) int { return min(1, n-1) }, func(n int) int {
				return int(parts.Below(uint64(n)))
			},
		} {
			crashOnce(t, at, keep)
		}
	}
}

// crashOnce runs three rounds and returns the changes of the first agent's disk, which
// crashes at one of them; 0: at none.
func crashOnce(t *testing.T, at int, keep func(n int) int) (changes int) {
	synctest.Test(t, func(t *testing.T) {
		const members = 2
		c := &crashing{
			crashes: 1,
			steps:   make([][]step, members),
			params:  make([]tensor.Vec, members),
			disks:   make([]*ledgertest.CrashFS, members),
		}
		c.w = nodetest.NewWorld(t, nodetest.Options{
			Factory: ownState(t),
			Plain:   true,
			Agents:  members,
			Graph:   "complete",
			Rounds:  3,
			Change: func(i int, cfg *node.Config) {
				cfg.Algorithm = recorder{cfg.Algorithm, &c.mu, &c.steps[i]}
				cfg.Linger = time.Hour
			},
		})
		c.net = openMemory(t, members)
		done := make(chan error, members)
		for i := range members {
			c.disks[i] = ledgertest.NewCrashFS()
			go func() {
				if i == 0 {
					c.disks[0].CrashAt = at
				}
				err := c.once(t, i, nodetest.Key(agent.ID(i)), c.disks[i], true)
				if i == 0 && at > 0 && errors.Is(err, ledgertest.ErrCrashed) {
					c.disks[0] = c.disks[0].Recover(keep)
					err = c.once(t, 0, nodetest.Key(0), c.disks[0], false)
				}
				done <- err
			}()
		}
		for range members {
			if err := <-done; err != nil {
				t.Fatalf("a crash at change %d: %v", at, err)
			}
		}
		want, _ := c.w.Simulate(t)
		for i := range members {
			if !slices.Equal(c.params[i], want[i]) {
				t.Errorf("a crash at change %d: agent %d ends at %v, without it at %v", at, i, c.params[i],
					want[i])
			}
			c.checkLedger(t, i, nodetest.Key(agent.ID(i)))
		}
		changes = c.disks[0].Changes
	})
	return changes
}
