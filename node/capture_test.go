package node_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/wire"
)

// What a node sends is in its capture, frame for frame, however often links make it send
// again; a capture that ends in the middle of a frame is read up to it.
func TestCapture(t *testing.T) {
	var file bytes.Buffer
	r := prepare(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 3,
		Change: func(i int, c *node.Config) {
			if i == 0 {
				c.Transport = wire.NewCaptured(c.Transport, &file)
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
		err = wire.ReadCapture(bytes.NewReader(b), func(s wire.Sent) error {
			sent++
			if s.Frame.Sender != 0 || s.Frame.Run != r.w.Run {
				t.Errorf("a frame of %d, run %x", s.Frame.Sender, s.Frame.Run[:4])
			}
			if s.Frame.Kind == frame.Messages {
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
	if _, err := read(damaged); !errors.Is(err, frame.ErrMalformed) {
		t.Errorf("damaged: %v", err)
	}
}

// A capture that a killed process left torn, in the middle of any part of a frame, is
// gone on with: every whole frame of both processes is read.
func TestCaptureGoesOnAfterAKill(t *testing.T) {
	raw := func(round uint64) []byte {
		return append([]byte{1, 0, 0, 0}, frame.Append(nil, &frame.Frame{Kind: frame.Messages,
			Round: round, Payload: make([]byte, 50)})...)
	}
	path := filepath.Join(t.TempDir(), "capture")
	for cut := range len(raw(2)) {
		if err := os.WriteFile(path, append(raw(1), raw(2)[:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := wire.AppendTo(path)
		if err == nil {
			_, err = f.Write(raw(3))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatalf("%d bytes of a frame: %v", cut, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var rounds []uint64
		err = wire.ReadCapture(bytes.NewReader(b), func(s wire.Sent) error {
			rounds = append(rounds, s.Frame.Round)
			return nil
		})
		if err != nil || !slices.Equal(rounds, []uint64{1, 3}) {
			t.Fatalf("%d bytes of a frame: rounds %v, %v", cut, rounds, err)
		}
	}
}

// A frame that the capture does not take is not sent.
func TestCaptureComesFirst(t *testing.T) {
	net := openMemory(t, 2)
	one, two := net.Open(t, 0), net.Open(t, 1)
	got := 0
	two.Serve(func(agent.ID, []byte) error { got++; return nil })
	c := wire.NewCaptured(one, full{})
	c.Serve(func(agent.ID, []byte) error { return nil })
	if err := c.Send(context.Background(), 1,
		frame.Append(nil, &frame.Frame{Kind: frame.Hello})); !errors.Is(err,
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
	raw := append([]byte{1, 0, 0, 0},
		frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: []byte{1, 2, 3}})...)
	f.Add(raw)
	f.Add(append(raw, raw[:10]...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		err := wire.ReadCapture(bytes.NewReader(b), func(s wire.Sent) error {
			n += frame.HeaderSize + 4 + len(s.Frame.Payload)
			return nil
		})
		if err != nil && !errors.Is(err, frame.ErrMalformed) || n > len(b) {
			t.Errorf("%v, %d of %d bytes", err, n, len(b))
		}
	})
}
