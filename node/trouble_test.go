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
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/wire"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// clockWakes is how often each agent wakes in the test of its clock's troubles.
const clockWakes = 60

// slowClocks are agents that wake every 10 s on average, and step for 1 s.
func slowClocks(t *testing.T, change func(i int, c *node.Config)) nodetest.Options {
	return nodetest.Options{
		Factory:  factory(t, "bcd"),
		Rounds:   clockWakes,
		Interval: 10 * time.Second,
		Change: func(i int, c *node.Config) {
			c.Gate = slowGate{c.Gate, time.Second}
			if change != nil {
				change(i, c)
			}
		},
	}
}

// endInTime waits for all agents but one. A node needs 60 exponential times of mean 10 s
// and 60 s for its steps. It takes twice that with probability below 1e-9 (Chernoff:
// exp(-60 (1.1 - ln 2.1)) for a sum of 2.1 times its mean).
func endInTime(t *testing.T, r *running, began time.Time, but int) {
	t.Helper()
	const most = 2 * clockWakes * 11 * time.Second
	for i := range r.nodes {
		if i == but {
			continue
		}
		for r.nodes[i].Status().Round < clockWakes {
			if time.Since(began) > most {
				t.Fatalf("agent %d is at wake %d after %v", i, r.nodes[i].Status().Round,
					time.Since(began))
			}
			time.Sleep(time.Second)
		}
	}
}

// statusOf is what agent i knows of a neighbor.
func statusOf(r *running, i int, name string) node.PeerStatus {
	for _, p := range r.nodes[i].Status().Peers {
		if p.Name == name {
			return p
		}
	}
	return node.PeerStatus{}
}

// inBubble is a subtest in time of its own.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// What holds up a barrier holds nobody up where nodes wake by clocks: a link that is down
// for six minutes, a member that takes 20 times as long, one that starts late, one that
// errs once. Each is named, the others keep their pace, and who was held up ends its run.
func TestNoTroubleHoldsUpClocks(t *testing.T) {
	inBubble(t, "link loss", func(t *testing.T) {
		began := time.Now()
		r := start(t, slowClocks(t, nil), openFaulty(func(f *nodetest.Faulty, i agent.ID) {
			f.Down = func(to agent.ID) bool {
				passed := time.Since(began)
				return i+to == 1 && passed > 3*time.Second && passed < 6*time.Minute // between 0 and 1
			}
		}))
		time.Sleep(4 * time.Minute)
		if p := statusOf(r, 0, "agent 1"); p.State != node.Gone || p.Fault == "" {
			t.Errorf("across the lost link: %+v", p)
		}
		endInTime(t, r, began, -1)
		r.wait(t)
		if p := statusOf(r, 0, "agent 1"); p.Round != clockWakes {
			t.Errorf("after the loss: %+v", p)
		}
	})
	inBubble(t, "slow", func(t *testing.T) {
		began := time.Now()
		r := start(t, slowClocks(t, func(i int, c *node.Config) {
			if i == 2 {
				c.Gate = slowGate{c.Gate, 400 * time.Second}
			}
			c.Linger = 24 * time.Hour
		}), openMemory)
		// It is late after 100 s, which is seen at the next wake. No wake in 250 s, with
		// pauses of 10 s on average and 1 s for a step, has probability below 1e-10.
		time.Sleep(350 * time.Second)
		if p := statusOf(r, 1, "agent 2"); p.State != node.Late {
			t.Errorf("a slow member: %+v", p)
		}
		endInTime(t, r, began, 2)
		if s := r.nodes[2].Status(); s.Round > 10 {
			t.Errorf("the slow member is at wake %d", s.Round)
		}
		r.wait(t)
		if s := r.nodes[2].Status(); s.Round != clockWakes {
			t.Errorf("the slow member ends with %+v", s)
		}
	})
	inBubble(t, "late start", func(t *testing.T) {
		began := time.Now()
		r := prepare(t, slowClocks(t, nil), openMemory)
		for _, i := range []int{0, 1, 2} {
			r.start(t, i)
		}
		time.Sleep(6 * time.Second)
		if p := statusOf(r, 0, "agent 3"); p.State != node.Gone {
			t.Errorf("a member that is not there: %+v", p)
		}
		r.start(t, 3)
		endInTime(t, r, began, -1)
		r.wait(t)
	})
	inBubble(t, "an error", func(t *testing.T) {
		began, once := time.Now(), false
		r := start(t, slowClocks(t, func(i int, c *node.Config) {
			if i == 1 {
				c.Gate = &failing{Gate: c.Gate, at: 5, once: &once}
			}
			c.Linger = 24 * time.Hour
		}), openMemory)
		if err := <-r.done[1]; !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "wake 5") {
			t.Fatalf("got %v", err)
		}
		endInTime(t, r, began, 1)
		r.start(t, 1)
		r.wait(t)
		if s := r.nodes[1].Status(); s.Round != clockWakes || r.led[1].Head().Seq != clockWakes {
			t.Errorf("the member ends with %+v after %d charges", s, r.led[1].Head().Seq)
		}
	})
}

// older speaks another version of the frame format until it is upgraded.
type older struct {
	node.Transport
	until time.Time
}

func (o older) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if time.Now().Before(o.until) {
		raw = append([]byte(nil), raw...)
		raw[4] = 9
	}
	return o.Transport.Send(ctx, to, raw)
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
				!strings.Contains(s.Peers[0].Fault+s.Peers[1].Fault, "version 9, allowed: 1 to 2") {
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
				net := wire.NewMemory(2, node.MaxPayload(dim))
				w := nodetest.NewWorld(t, nodetest.Options{
					Factory:  factory(t, "bcd"),
					Agents:   2,
					Graph:    "path",
					Interval: interval,
					Change: func(i int, c *node.Config) {
						nodetest.Bare(i, c)
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
					f := frame.Append(nil, &frame.Frame{
						Kind:    frame.Messages,
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
