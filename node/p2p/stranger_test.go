package p2p

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// Somebody with a key of its own runs a node at a member's address, by a roster in which
// that key is the member's, and so with frames of the right form. The others take nothing
// from it, name the member as gone, and wait; when the member comes, the run ends with
// the simulator's bits.
func TestAStrangerInAMembersPlace(t *testing.T) {
	f, err := algo.New("dsgt", func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l := openLoopback(t, 4, node.MaxPayload(nodetest.Dim))
	w := nodetest.NewWorld(t, nodetest.Options{Factory: f, Change: func(_ int, c *node.Config) {
		c.RetryMax = 200 * time.Millisecond
	}})
	want, _ := w.Simulate(t)
	public, key, _ := ed25519.GenerateKey(nil)
	theirs := slices.Clone(l.members)
	theirs[2].Key = public

	done := make(chan error, 5)
	start := func(ctx context.Context, i agent.ID, tr node.Transport) *node.Node {
		n, store, err := w.Node(t, int(i), tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			err := n.Run(ctx)
			err = errors.Join(err, tr.Close(), store.Close())
			done <- err
		}()
		return n
	}
	stranger, err := New(Config{Key: key, Members: theirs, MaxPayload: l.max,
		hooks: hooks{handshake: time.Second, address: l.address}})
	if err != nil {
		t.Fatal(err)
	}
	l.listens(t, 2, stranger)
	ctx, stop := context.WithCancel(context.Background())
	false2 := start(ctx, 2, stranger)
	nodes := make([]*node.Node, 4)
	for _, i := range []agent.ID{0, 1, 3} {
		nodes[i] = start(context.Background(), i, l.Open(t, i))
	}
	time.Sleep(time.Second)
	for _, i := range []int{1, 3} { // the neighbors of 2
		s := nodes[i].Status()
		for _, p := range s.Peers {
			if p.Name == "agent 2" && (p.State != node.Gone || p.Fault == "") || s.Round > 0 ||
				s.Counts.Refused > 0 {
				t.Errorf("agent %d beside a stranger: %+v", i, s)
			}
		}
	}
	if s := false2.Status(); s.Round > 0 {
		t.Errorf("the stranger took part: %+v", s)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("a node ended beside a stranger: %v", err)
	}
	nodes[2] = start(context.Background(), 2, l.Open(t, 2))
	for range nodes {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		if !slices.Equal(n.Params(), want[i]) {
			t.Errorf("agent %d: %v, in the simulator %v", i, n.Params(), want[i])
		}
	}
}
