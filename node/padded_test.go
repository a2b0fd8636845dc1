package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/pad"
)

// ear notes when a member's frames of messages to member 0 leave that arrive.
type ear struct {
	node.Transport
	at *[]time.Time
}

func (e ear) Send(ctx context.Context, to agent.ID, raw []byte) error {
	leaves := time.Now()
	err := e.Transport.Send(ctx, to, raw)
	if err == nil && frame.Kind(raw[5]) == frame.Messages && to == 0 {
		*e.at = append(*e.at, leaves)
	}
	return err
}

// What an observer of the network sees of a member with padded answers is the same for
// whatever batches it draws: in rounds its frames leave one pad apart.
func TestPadHidesTheBatch(t *testing.T) {
	times := func(most time.Duration) (after []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
				if i == 1 {
					c.Gate = &pad.Gate{Gate: slowGate{c.Gate, most}, MinAnswerTime: time.Second}
					c.Transport = ear{c.Transport, &at}
				}
			}}, openMemory)
			r.wait(t)
			r.equalsSimulator(t)
			var first time.Time
			for _, x := range at {
				if x.Sub(at[0]) < time.Second/2 {
					// what is sent at the start meets members that are still starting,
					// and may be sent again
					continue
				}
				if first.IsZero() {
					first = x
				}
				after = append(after, x.Sub(first))
			}
		})
		return after
	}
	short, long := times(time.Millisecond), times(900*time.Millisecond)
	if len(short) != 11 || len(long) != 11 {
		t.Fatalf("%d and %d frames, want 11", len(short), len(long))
	}
	for k := range short {
		if want := time.Duration(k) * time.Second; short[k] != want || long[k] != want {
			t.Errorf("frame %d leaves after %v and %v, want %v", k, short[k], long[k], want)
		}
	}
}
