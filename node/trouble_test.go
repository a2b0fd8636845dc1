package node_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// What holds up a barrier holds nobody up where nodes wake by clocks: a link that is down
// for six minutes, a member that takes 20 times as long, one that starts late, one that
// errs once. Each is named, the others keep their pace, and who was held up ends its run.
func TestNoTroubleHoldsUpClocks(t *testing.T) {
	const rounds = 60
	opt := func(t *testing.T, change func(i int, c *node.Config)) nodetest.Options {
		return nodetest.Options{
			Factory:  factory(t, "bcd"),
			Rounds:   rounds,
			Interval: 10 * time.Second,
			Change: func(i int, c *node.Config) {
				c.Gate = slowGate{c.Gate, time.Second}
				if change != nil {
					change(i, c)
				}
			},
		}
	}
	// A node needs 60 exponential times of mean 10 s and 60 s for its steps. It takes
	// twice that with probability below 1e-9 (Chernoff: exp(-60 (1.1 - ln 2.1)) for a sum
	// of 2.1 times its mean).
	const most = 2 * rounds * 11 * time.Second
	ends := func(t *testing.T, r *running, began time.Time, but int) {
		t.Helper()
		for i := range r.nodes {
			if i == but {
				continue
			}
			for r.nodes[i].Status().Round < rounds {
				if time.Since(began) > most {
					t.Fatalf("agent %d is at wake %d after %v", i, r.nodes[i].Status().Round,
						time.Since(began))
				}
				time.Sleep(time.Second)
			}
		}
	}
	peer := func(r *running, i int, name string) node.PeerStatus {
		for _, p := range r.nodes[i].Status().Peers {
			if p.Name == name {
				return p
			}
		}
		return node.PeerStatus{}
	}
	t.Run("link loss", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := start(t, opt(t, nil), openFaulty(func(f *nodetest.Faulty, i agent.ID) {
				f.Down = func(to agent.ID) bool {
					passed := time.Since(began)
					return i+to == 1 && passed > 3*time.Second && passed < 6*time.Minute // between 0 and 1
				}
			}))
			time.Sleep(4 * time.Minute)
			if p := peer(r, 0, "agent 1"); p.State != node.Gone || p.Fault == "" {
				t.Errorf("across the lost link: %+v", p)
			}
			ends(t, r, began, -1)
			r.wait(t)
			if p := peer(r, 0, "agent 1"); p.Round != rounds {
				t.Errorf("after the loss: %+v", p)
			}
		})
	})
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := start(t, opt(t, func(i int, c *node.Config) {
				if i == 2 {
					c.Gate = slowGate{c.Gate, 200 * time.Second}
				}
				c.Linger = 24 * time.Hour
			}), openMemory)
			time.Sleep(150 * time.Second)
			if p := peer(r, 1, "agent 2"); p.State != node.Late {
				t.Errorf("a slow member: %+v", p)
			}
			ends(t, r, began, 2)
			if s := r.nodes[2].Status(); s.Round > 10 {
				t.Errorf("the slow member is at wake %d", s.Round)
			}
			r.wait(t)
			if s := r.nodes[2].Status(); s.Round != rounds {
				t.Errorf("the slow member ends with %+v", s)
			}
		})
	})
	t.Run("late start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := prepare(t, opt(t, nil), openMemory)
			for _, i := range []int{0, 1, 2} {
				r.start(t, i)
			}
			time.Sleep(6 * time.Second)
			if p := peer(r, 0, "agent 3"); p.State != node.Gone {
				t.Errorf("a member that is not there: %+v", p)
			}
			r.start(t, 3)
			ends(t, r, began, -1)
			r.wait(t)
		})
	})
	t.Run("an error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began, once := time.Now(), false
			r := start(t, opt(t, func(i int, c *node.Config) {
				if i == 1 {
					c.Gate = &failing{Gate: c.Gate, at: 5, once: &once}
				}
				c.Linger = 24 * time.Hour
			}), openMemory)
			if err := <-r.done[1]; !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "wake 5") {
				t.Fatalf("got %v", err)
			}
			ends(t, r, began, 1)
			r.start(t, 1)
			r.wait(t)
			if s := r.nodes[1].Status(); s.Round != rounds || r.led[1].Head().Seq != rounds {
				t.Errorf("the member ends with %+v after %d charges", s, r.led[1].Head().Seq)
			}
		})
	})
}

// older speaks another version of the frame format until it is upgraded.
type older struct {
	node.Transport
	until time.Time
}

func (o older) Send(ctx context.Context, to agent.ID, frame []byte) error {
	if time.Now().Before(o.until) {
		frame = append([]byte(nil), frame...)
		frame[4]++
	}
	return o.Transport.Send(ctx, to, frame)
}

// A member of another version is named as such and waited for; after its upgrade the run
// ends with the simulator's bits.
func TestAnotherVersionIsNamedUntilUpgraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgt"), Change: func(i int, c *node.Config) {
			if i == 1 {
				c.Transport = older{c.Transport, time.Now().Add(time.Hour)}
			}
		}}, openMemory)
		time.Sleep(30 * time.Minute)
		for _, i := range []int{0, 2} { // the neighbors of 1
			if s := r.nodes[i].Status(); s.Round > 1 || s.Counts.Refused == 0 ||
				!strings.Contains(s.Peers[0].Fault+s.Peers[1].Fault, "version 2, allowed: 1") {
				t.Errorf("agent %d: %+v", i, s)
			}
		}
		if s := r.nodes[1].Status(); !strings.Contains(s.Peers[0].Fault, "another version") {
			t.Errorf("the member itself: %+v", s)
		}
		r.wait(t)
		r.equalsSimulator(t)
	})
}

// Whatever a member sends, and however much of it, a node keeps three frames of it at
// most.
func TestFloodsTakeNoMemory(t *testing.T) {
	const dim, flood = 1 << 14, 400 // 64 KB a model, 26 MB in all
	for name, interval := range map[string]time.Duration{"rounds": 0, "clock": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := node.NewMemory(2, node.MaxPayload(dim))
				w := nodetest.NewWorld(t, nodetest.Options{
					Factory:  factory(t, "bcd"),
					Agents:   2,
					Graph:    "path",
					Interval: interval,
					Change: func(_ int, c *node.Config) {
						c.Dim, c.Gate = dim, spent{}
						a, err := factory(t, "bcd")(agent.Env{
							Agents:     2,
							Dim:        dim,
							Records:    3,
							MaxRecords: 3,
							Rounds:     100,
							Init:       make(tensor.Vec, dim),
							Graph:      agent.Graph{SLEM: 1},
						})
						if err != nil {
							t.Fatal(err)
						}
						c.Algorithm = a
					},
				})
				tr := net.Open(0)
				victim, store, err := w.Node(t, 0, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan error)
				go func() { done <- victim.Run(ctx) }()
				synctest.Wait()
				bad := net.Open(1)
				bad.Serve(func(agent.ID, []byte) error { return nil })
				synctest.Wait()
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				body := make(tensor.Vec, dim)
				for k := range uint64(flood) {
					f := node.AppendFrame(nil, &node.Frame{
						Kind:    node.Messages,
						Run:     w.Run,
						Sender:  1,
						Round:   k % 2 * k,
						Payload: message(1, k%2*k, body...),
					})
					bad.Send(context.Background(), 0, f)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16*4*dim {
					t.Errorf("%d MB more after a flood", grown>>20)
				}
				if s := victim.Status(); s.Counts.Refused+s.Counts.Stale+s.Counts.Replayed < flood/2-1 {
					t.Errorf("%+v", s)
				}
				stop()
				<-done
				tr.Close()
				store.Close()
				bad.Close()
			})
		})
	}
}
