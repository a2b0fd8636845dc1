package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// A member that is ahead of the one whose operator has the amendment takes it on: it is
// early enough where the first node takes it.
func TestAnAmendmentInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGenerations(t, "dsgd", 60, generation{people: []int{0, 1}},
			generation{people: []int{0, 1, 2}, from: 12})
		g.takes, g.quick, g.late = time.Second, true, 9500*time.Millisecond // in round 9
		g.run(t, nil)
	})
}

func never(tensor.Vec) (agent.Algorithm, error) { return nil, errDead }

// A member that learns late that the others have gone on without it ends at once.
func TestALateWordOfARemoval(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*node.Amendment{
		"gone":  {Round: 9, Removed: true, Leave: []bool{true, false}, Gone: []bool{true, false}},
		"later": {Round: 0, Removed: true, Leave: []bool{true, false}, Gone: []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 2,
					Graph: "complete", Change: func(_ int, c *node.Config) { c.Restart = never }})
				tr := openMemory(t, 2).Open(t, 0)
				defer tr.Close()
				n, store, err := w.Node(t, 0, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				began := time.Now()
				time.AfterFunc(time.Minute, func() {
					if err := n.Amend(a); err != nil {
						t.Error(err)
					}
				})
				err = n.Run(context.Background())
				if took := time.Since(began); !errors.Is(err, node.ErrRemoved) || took > 2*time.Minute {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// An amendment whose round is past, or a second one, is refused in words, and so is one
// of a run whose members cannot change.
func TestAmendmentsThatCannotHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 2, Graph: "complete",
			Change: func(_ int, c *node.Config) { c.Restart = never }})
		n, store, err := w.Node(t, 0, openMemory(t, 2).Open(t, 0), ledgertest.NewCrashFS(),
			ledger.NewMemory(nil))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		none := make([]bool, 2)
		for round := range uint64(3) { // the other member may pass it before it has the word
			err = n.Amend(&node.Amendment{Round: round, Leave: none, Gone: none})
			if !errors.Is(err, node.ErrPassed) {
				t.Errorf("round %d, which may be about to be passed: %v", round, err)
			}
		}
		if err := n.Amend(&node.Amendment{Round: 5, Run: [32]byte{1}, Leave: none, Gone: none}); err != nil {
			t.Error(err)
		}
		var bad *config.Error
		err = n.Amend(&node.Amendment{Round: 6, Run: [32]byte{2}, Leave: none, Gone: none})
		if !errors.As(err, &bad) {
			t.Errorf("a second amendment: %v", err)
		}
	})
	for name, o := range map[string]nodetest.Options{
		"tracking": {Factory: factory(t, "dsgt")},
		"clock":    {Factory: factory(t, "bcd"), Interval: time.Second},
		"dropout":  {Factory: factory(t, "dsgd"), Dropout: .4},
	} {
		o.Change = func(_ int, c *node.Config) {
			c.Next = &node.Amendment{Round: 9}
			if name != "tracking" {
				c.Restart = never
			}
		}
		w := nodetest.NewWorld(t, o)
		var bad *config.Error
		if _, _, err := w.Node(t, 0, openMemory(t, 5).Open(t, 0), ledgertest.NewCrashFS(),
			ledger.NewMemory(nil)); !errors.As(err, &bad) || bad.Key != "epoch" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two amendments for one change of members are named at either side, in words of their
// own: each refused the other's as a malformed frame, and nobody was told.
func TestTwoAmendments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		none := make([]bool, 2)
		read := func(text []byte) (*node.Amendment, error) {
			return &node.Amendment{Run: [32]byte{text[0]}, Round: 900, Leave: none, Gone: none,
				Text: text}, nil
		}
		var logs [2]bytes.Buffer
		w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 2, Graph: "complete",
			Rounds: 1000, Change: func(i int, c *node.Config) {
				c.Restart, c.OnAmendment = never, read
				c.Log = slog.New(slog.NewTextHandler(&logs[i], nil))
			}})
		net := openMemory(t, 2)
		ctx, stop := context.WithCancel(context.Background())
		var nodes [2]*node.Node
		var all sync.WaitGroup
		for i := range nodes {
			tr := net.Open(t, agent.ID(i))
			defer tr.Close()
			n, store, err := w.Node(t, i, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			a, _ := read([]byte{byte(7 + i)})
			if err := n.Amend(a); err != nil {
				t.Fatal(err)
			}
			nodes[i] = n
			all.Go(func() { n.Run(ctx) })
		}
		synctest.Wait()
		for i, n := range nodes {
			if got, want := n.Status().Peers[0].Fork, fmt.Sprintf("%02x000000", 8-i); got != want {
				t.Errorf("node %d: its neighbor follows %q, want %s", i, got, want)
			}
		}
		stop()
		all.Wait()
		for i := range logs {
			if log := logs[i].String(); !strings.Contains(log, "refused by the peer: another amendment") ||
				strings.Contains(log, "malformed") {
				t.Errorf("the log of node %d: %s", i, log)
			}
		}
	})
}

// counting counts attempts to send, each of which takes a while.
type counting struct {
	node.Transport
	sends *atomic.Int64
}

func (c counting) Send(ctx context.Context, to agent.ID, frame []byte) error {
	c.sends.Add(1)
	time.Sleep(10 * time.Millisecond)
	return c.Transport.Send(ctx, to, frame)
}

// A member refuses the amendment that all others follow. It and they asked and told each
// other the same without a pause, hundreds of times a second, until somebody came.
func TestARefusedAmendmentIsNotToldWithoutAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGenerations(t, "dsgd", 60, generation{people: []int{0, 1, 2, 3}},
			generation{people: []int{0, 1, 2, 3}, from: 20})
		g.takes, g.deaf, g.patient = time.Second, 2, 10*time.Minute
		var sends atomic.Int64
		g.faults = func(tr node.Transport, _ int) node.Transport { return counting{tr, &sends} }
		end := node.ErrStalled
		g.run(t, map[int]error{0: end, 1: end, 2: end, 3: end})
		t.Logf("%d attempts to send", sends.Load())
		if n := sends.Load(); n > 3000 {
			t.Errorf("%d attempts to send in ten minutes, want at most 3000", n)
		}
	})
}

// cut is a person's end of the links of a run, where frames are lost.
type cut struct {
	node.Transport
	lost func(to agent.ID, f []byte) bool
}

func (c cut) Send(ctx context.Context, to agent.ID, f []byte) error {
	if c.lost(to, f) {
		return fmt.Errorf("%w: cut", node.ErrUnreachable)
	}
	return c.Transport.Send(ctx, to, f)
}

// A member loses its state when one neighbor has gone on to the next roster and another
// has not heard that this one is ready to. It goes on as well: it was refused there,
// as the other still waited for it under the roster before, and both waited for good.
func TestAStateIsLostBetweenRosters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dsgd", "dsgt"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGenerations(t, name, 40, generation{people: []int{0, 1, 2}},
				generation{people: []int{1, 2, 0}, from: 20})
			g.takes = time.Second
			loser := &comeback{loses: 19, lingers: 5 * time.Minute}
			g.returns = map[int]*comeback{1: loser}
			var starts, back atomic.Int64 // of person 1; when it is back
			g.faults = func(tr node.Transport, person int) node.Transport {
				if person == 1 && starts.Add(1) == 2 {
					back.Store(time.Now().UnixNano())
				}
				return cut{tr, func(to agent.ID, f []byte) bool {
					switch since := back.Load(); {
					case person == 1 && to == 2:
						return since == 0 && frame.Kind(f[5]) == frame.Progress
					case person == 0 && to == 1: // it is slow to speak
						return since > 0 && time.Since(time.Unix(0, since)) < 10*time.Minute
					}
					return false
				}}
			}
			g.run(t, nil)
			if !loser.took || loser.early > 0 {
				t.Errorf("%s: lost its state: %t; told %d times that the roster does not hold yet", name,
					loser.took, loser.early)
			}
		})
	}
}
