package p2p

import (
	"context"
	"math"
	"testing"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// towards answers with the gradient of |θ - center|²/2.
type towards float32

func (towards) Begin(uint64, []agent.Neighbor) {}

func (c towards) Answer(q *agent.Query, dst tensor.Vec) error {
	for i, x := range q.At {
		dst[i] = x - float32(c)
	}
	return nil
}

// Four nodes on loopback that wake by their clocks, alone or in pairs, reach the
// minimiser of the objective
//
//	1/2 Σ_{i<j} |θ_i - θ_j|² + μ Σ_i D_i (|θ_i - i|²/2 + λ |θ_i|²)
//
// on the complete graph. By symmetry θ_i = m + s (i - 3/2): both follow from the sum and
// the differences of the stationarity conditions Σ_j (θ_i - θ_j) + 3 μ (θ_i - i + 2 λ
// θ_i) = 0.
func TestClocksOnLoopback(t *testing.T) {
	const mu, lambda = 1., .1
	mean := 1.5 / (1 + 2*lambda)
	slope := 3 * mu / (4 + 3*mu*(1+2*lambda))
	for _, name := range []string{"bcd", "gossip-admm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for clocks most of the time
			f, err := algo.New(name, func(p any) error {
				own := algo.Personal{Mu: mu, Lambda: lambda, Confidence: 1, Smoothness: 1}
				switch p := p.(type) {
				case *algo.BCDParams:
					p.Personal = own
				case *algo.GossipADMMParams:
					p.Personal = own
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			const members = 4
			// On a busy machine nodes start up to a second apart, and many neighbors are
			// in another meeting: an early node's last wake comes before a late one has
			// converged.
			rounds, interval, tolerance := uint64(300), 30*time.Millisecond, .02
			if name == "gossip-admm" {
				rounds, interval, tolerance = 120, 50*time.Millisecond, .05
			}
			w := nodetest.NewWorld(t, nodetest.Options{
				Factory:  f,
				Graph:    "complete",
				Rounds:   rounds,
				Interval: interval,
				Change: func(i int, c *node.Config) {
					c.Gate, c.Pairs, c.Deadline, c.Linger = towards(i), name == "gossip-admm", 10*time.Second,
						time.Minute
				},
			})
			l := openLoopback(t, members, node.MaxPayload(nodetest.Dim))
			nodes, done := make([]*node.Node, members), make(chan error)
			for i := range nodes {
				tr := l.Open(t, agent.ID(i))
				n, store, err := w.Node(t, i, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
				if err != nil {
					t.Fatal(err)
				}
				nodes[i] = n
				go func() {
					err := n.Run(context.Background())
					tr.Close()
					store.Close()
					done <- err
				}()
			}
			for range nodes {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			for i, n := range nodes {
				want := mean + slope*(float64(i)-1.5)
				if got := float64(n.Params()[0]); math.Abs(got-want) > tolerance {
					t.Errorf("agent %d ends at %g, the minimiser is %g: %+v", i, got, want, n.Status().Counts)
				}
			}
		})
	}
}
