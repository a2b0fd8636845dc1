package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/tensor"
)

func roundedFactory(f agent.Factory) agent.Factory {
	return func(env agent.Env) (agent.Algorithm, error) {
		a, err := f(env)
		if err != nil {
			return nil, err
		}
		return algo.Rounded(a), nil
	}
}

// size notes the length of the longest frame of messages.
type size struct {
	node.Transport
	most *atomic.Int64 // links send at the same time
}

func (s size) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if frame.Kind(raw[5]) == frame.Messages {
		for n := int64(len(raw)); ; {
			if was := s.most.Load(); n <= was || s.most.CompareAndSwap(was, n) {
				break
			}
		}
	}
	return s.Transport.Send(ctx, to, raw)
}

// Nodes whose frames hold bfloat16 have the bits of the simulator, whose agents send the
// same rounded values, also under adaptive clips, and their frames two bytes a value.
func TestBF16FramesEqualTheSimulator(t *testing.T) {
	var most atomic.Int64
	for name, o := range map[string]nodetest.Options{
		"dsgd":       {Factory: factory(t, "dsgd")},
		"gossip-sgd": {Factory: factory(t, "gossip-sgd")},
		"clipped":    {Factory: clipping(t, "dsgd", "released")},
		"directed":   {Factory: factory(t, "dsgd"), Graph: "exp-directed", Agents: 5},
	} {
		o.Factory, o.BF16 = roundedFactory(o.Factory), true
		o.Change = func(i int, c *node.Config) {
			if i == 0 && name == "dsgd" {
				c.Transport = size{c.Transport, &most}
			}
		}
		t.Run(name, func(t *testing.T) { nodetest.Equal(t, o, openMemory) })
	}
	want := frame.HeaderSize + agent.MessageSize(0) + 2*nodetest.Dim + mark.Size
	if most.Load() != int64(want) {
		t.Errorf("frames of %d bytes, want %d", most.Load(), want)
	}
}

// A frame of the other format, or with a value that is not finite, is refused and its
// sender named.
func TestBF16FramesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := make(tensor.Vec, nodetest.Dim)
		for _, half := range []bool{false, true} {
			f := factory(t, "dsgd")
			if half {
				f = roundedFactory(f)
			}
			r := prepare(t, nodetest.Options{Factory: f, BF16: half, Change: nodetest.Bare}, openMemory)
			r.start(t, 0)
			synctest.Wait()
			bad := r.net.Open(t, 1)
			bad.Serve(func(agent.ID, []byte) error { return nil })
			m := agent.Message{From: 1, To: agent.Broadcast, Body: body}
			narrow, wide := agent.AppendMessageBF16(nil, &m), agent.AppendMessage(nil, &m)
			ok, other := wide, narrow
			if half {
				ok, other = narrow, wide
			}
			infinite := append([]byte(nil), narrow...)
			infinite[len(infinite)-1], infinite[len(infinite)-2] = 0x7f, 0x80
			for _, tc := range []struct {
				payload []byte
				want    error
			}{{other, node.RefusedFrame}, {infinite, node.RefusedFrame},
				{append(append([]byte(nil), ok...), other...), node.RefusedFrame}, {ok, nil}} {
				raw := frame.Append(nil,
					&frame.Frame{Kind: frame.Messages, Run: r.w.Run, Sender: 1, Payload: tc.payload})
				if err := bad.Send(context.Background(), 0, raw); !errors.Is(err, tc.want) ||
					(err == nil) != (tc.want == nil) {
					t.Errorf("bf16 %t: %v, want %v", half, err, tc.want)
				}
			}
			if s := r.nodes[0].Status(); s.Counts.Refused != 3 {
				t.Errorf("bf16 %t: %d frames refused, want 3", half, s.Counts.Refused)
			}
			r.halt(0)
			bad.Close()
		}
	})
}
