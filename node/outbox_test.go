package node_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
)

// slow takes long to send, and looks whether the frame stays what it was meanwhile.
type slow struct {
	node.Transport
	frames, changed *atomic.Int64
}

func (s slow) Send(ctx context.Context, to agent.ID, frame []byte) error {
	was := bytes.Clone(frame)
	time.Sleep(10 * time.Second)
	s.frames.Add(1)
	if !bytes.Equal(frame, was) {
		s.changed.Add(1)
	}
	return s.Transport.Send(ctx, to, frame)
}

// The memory of frames is used again, but not while one is on its way: nodes that wait
// for nobody make many while their neighbors get one.
func TestFramesStayAsTheyWereSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var frames, changed atomic.Int64
		r := start(t, nodetest.Options{Factory: factory(t, "bcd"), Interval: time.Second, Rounds: 200,
			Change: func(_ int, c *node.Config) {
				c.Transport = slow{c.Transport, &frames, &changed}
				c.Linger = time.Hour
			}}, openMemory)
		r.wait(t)
		if frames.Load() < 100 || changed.Load() > 0 {
			t.Errorf("%d of %d frames changed while they were sent", changed.Load(), frames.Load())
		}
	})
}
