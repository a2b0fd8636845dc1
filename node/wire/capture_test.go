package wire

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sotto/agent"
	"sotto/node/frame"
)

// crowded is a file on a disk that has room for half of what is written while it is full.
type crowded struct {
	*os.File
	full bool
}

func (w *crowded) Write(b []byte) (int, error) {
	if w.full {
		n, _ := w.File.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return w.File.Write(b)
}

// A frame for which the disk had no room is not sent, and leaves nothing in the capture:
// the next ones follow the last whole one, and the capture can be gone on with.
func TestCaptureOnAFullDisk(t *testing.T) {
	at := filepath.Join(t.TempDir(), "capture")
	f, err := AppendTo(at)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMemory(2, 100)
	came := 0
	m.Open(1).Serve(func(agent.ID, []byte) error { came++; return nil })
	w := &crowded{File: f}
	c := NewCaptured(m.Open(0), w)
	for round := range uint64(5) {
		w.full = round == 1 || round == 2
		raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello, Round: round})
		err := c.Send(context.Background(), 1, raw)
		if (err != nil) != w.full {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	f.Close()
	again, err := AppendTo(at)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	var rounds []uint64
	if err := ReadCapture(again, func(s Sent) error {
		rounds = append(rounds, s.Frame.Round)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if len(rounds) != 3 || rounds[0] != 0 || rounds[1] != 3 || rounds[2] != 4 || came != 3 {
		t.Errorf("the capture has rounds %v, %d frames came; want 0, 3 and 4", rounds, came)
	}
}
