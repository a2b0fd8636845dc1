package node_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
)

// What a node sends is in its capture, frame for frame, however often links make it send
// again; a capture that ends in the middle of a frame is read up to it.
func TestCapture(t *testing.T) {
	var file bytes.Buffer
	r := prepare(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 3,
		Change: func(i int, c *node.Config) {
			if i == 0 {
				c.Transport = node.NewCaptured(c.Transport, &file)
			}
		}}, openMemory)
	for i := range r.nodes {
		r.start(t, i)
	}
	r.wait(t)
	last := map[agent.ID]uint64{}
	var sent int
	read := func(b []byte) (rounds map[agent.ID][]uint64, err error) {
		rounds, sent = map[agent.ID][]uint64{}, 0
		err = node.ReadCapture(bytes.NewReader(b), func(s node.Sent) error {
			sent++
			if s.Frame.Sender != 0 || s.Frame.Run != r.w.Run {
				t.Errorf("a frame of %d, run %x", s.Frame.Sender, s.Frame.Run[:4])
			}
			if s.Frame.Kind == node.Messages {
				rounds[s.To] = append(rounds[s.To], s.Frame.Round)
				last[s.To] = s.Frame.Round
			}
			return nil
		})
		return rounds, err
	}
	rounds, err := read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []agent.ID{1, 2} {
		all := slices.Compact(rounds[i])
		for k := range uint64(12) {
			if !slices.Contains(all, k) {
				t.Errorf("the frame of round %d to %d is not in the capture", k, i)
			}
		}
	}
	whole := sent
	if _, err := read(file.Bytes()[:file.Len()-3]); err != nil || sent != whole-1 {
		t.Errorf("cut short: %d of %d frames, %v", sent, whole, err)
	}
	damaged := bytes.Clone(file.Bytes())
	damaged[4+20] ^= 1
	if _, err := read(damaged); !errors.Is(err, node.ErrFrame) {
		t.Errorf("damaged: %v", err)
	}
}

// A frame that the capture does not take is not sent.
func TestCaptureComesFirst(t *testing.T) {
	net := openMemory(t, 2)
	one, two := net.Open(t, 0), net.Open(t, 1)
	got := 0
	two.Serve(func(agent.ID, []byte) error { got++; return nil })
	c := node.NewCaptured(one, full{})
	c.Serve(func(agent.ID, []byte) error { return nil })
	if err := c.Send(context.Background(), 1,
		node.AppendFrame(nil, &node.Frame{Kind: node.Hello})); !errors.Is(err,
		node.ErrUnreachable) || got != 0 {
		t.Errorf("%v, %d frames arrived", err, got)
	}
	one.Close()
	two.Close()
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func FuzzReadCapture(f *testing.F) {
	frame := append([]byte{1, 0, 0, 0},
		node.AppendFrame(nil, &node.Frame{Kind: node.Messages, Payload: []byte{1, 2, 3}})...)
	f.Add(frame)
	f.Add(append(frame, frame[:10]...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		err := node.ReadCapture(bytes.NewReader(b), func(s node.Sent) error {
			n += node.FrameHeader + 4 + len(s.Frame.Payload)
			return nil
		})
		if err != nil && !errors.Is(err, node.ErrFrame) || n > len(b) {
			t.Errorf("%v, %d of %d bytes", err, n, len(b))
		}
	})
}
