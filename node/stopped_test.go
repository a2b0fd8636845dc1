package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/config"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// A member is stopped long after its last wake, in which a neighbor has gone on. The next
// process tells that one how far it was, when it is restored, of all that the stopped one
// had heard.
func TestAStopKeepsWhatWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restored{}
		var left atomic.Uint64
		o := paces(t)["clock"]
		o.Agents, o.Graph, o.Rounds = 2, "complete", 200
		o.Change = r.slow(1, func(i int, c *node.Config) {
			if i == 0 {
				c.Interval = 40 * time.Second
			} else {
				c.Transport = leaving{c.Transport, &left}
			}
		}, o.Change)
		r.running = prepare(t, o, openMemory)
		for i := range r.nodes {
			r.start(t, i)
		}
		quiet := func() { // until member 0 has not woken for a while, after a first time
			for last, since := uint64(0), 0; since < 20 || last == 0; since++ {
				if now := r.led[0].Head().Seq; now != last {
					last, since = now, 0
				}
				time.Sleep(time.Second)
			}
		}
		quiet()
		r.halt(1)
		snapshot, then := r.files(1), r.led[1].Head().Seq
		r.start(t, 1)
		quiet()
		r.halt(1)
		r.halt(0)
		if left.Load() < then+5 {
			t.Fatalf("%d charges after %d: this test shows nothing", left.Load(), then)
		}
		r.put(1, snapshot)
		r.rollBack(t, 1, then)
		r.start(t, 0)
		r.start(t, 1)
		time.Sleep(30 * time.Second)
		r.halt(0)
		r.halt(1)
		if len(r.known) != 1 || r.known[0].Charges < left.Load() {
			t.Errorf("it was told %+v, of %d charges that had left it; its ledger had kept %d", r.known,
				left.Load(), then)
		}
	})
}

// A second Run of a node began at round 0 again: it asked what had been answered, forgot
// what was stored, and waited for neighbors that had gone on.
func TestANodeRunsOnce(t *testing.T) {
	w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 2})
	tr := openMemory(t, w.Graph.Agents()).Open(t, 0)
	defer tr.Close()
	l := ledger.NewMemory(w.Filter(t))
	n, store, err := w.Node(t, 0, tr, ledgertest.NewCrashFS(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var bad *config.Error
	if err := n.Run(ctx); !errors.As(err, &bad) || bad.Key != "run" {
		t.Errorf("a second time: %v", err)
	}
}
