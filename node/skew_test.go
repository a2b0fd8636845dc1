package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
)

// wrong is the transport of a member whose clock is off.
type wrong struct {
	node.Transport
	ahead time.Duration
}

func (w wrong) Send(ctx context.Context, to agent.ID, frame []byte) error {
	return w.Transport.Send(ctx, to, node.Stamp(frame, time.Now().Add(w.ahead)))
}

// A member whose clock is off is named with the difference, whichever its sign, by those
// that hear it; small differences and those whose clocks are right are not.
func TestClocksThatDiffer(t *testing.T) {
	for _, tc := range []struct{ ahead, want time.Duration }{
		{0, 0}, {4 * time.Second, 0}, {-4 * time.Second, 0}, {70 * time.Second, 70 * time.Second},
		{-2 * time.Hour, -2 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 40,
				Change: func(i int, c *node.Config) {
					if i == 1 {
						c.Transport = wrong{c.Transport, tc.ahead}
					}
				}}, openMemory)
			r.wait(t)
			for i := range r.nodes {
				for _, p := range r.nodes[i].Status().Peers {
					want := 0.
					if p.Name == "agent 1" {
						want = tc.want.Seconds()
					}
					if d := p.ClockAhead - want; d < -1 || d > 1 {
						t.Errorf("off by %v: to agent %d the clock of %s is %g s ahead, want %g",
							tc.ahead, i, p.Name, p.ClockAhead, want)
					}
				}
			}
		})
	}
}
