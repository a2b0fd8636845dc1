package folder

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node/frame"
)

// Whoever can write to the folder puts a pipe where a member will write its next frame:
// the member writes it all the same, and ends when it is told to.
func TestAPipeInAFramesPlace(t *testing.T) {
	s := openShared(t, 2, 1000)
	a, b := s.Open(t, 0).(*Transport), s.Open(t, 1).(*Transport)
	a.Serve(takes)
	b.Serve(takes)
	next := filepath.Join(a.root.Name(), path(frameLabel(0, 1, 1, a.session, b.session))+".partial")
	if err := syscall.Mkfifo(next, 0o666); err != nil {
		t.Fatal(err)
	}
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	sent, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		sent <- a.Send(ctx, 1, raw)
	}()
	select {
	case err := <-sent:
		if err != nil {
			t.Errorf("a frame in place of a pipe: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Send has not returned after 30 s")
	}
	go func() { closed <- a.Close() }()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("Close has not returned after 30 s")
	}
	if f, err := syscall.Open(next, syscall.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // lets it go
		time.Sleep(time.Second)
		syscall.Close(f)
	}
	b.Close()
}

func takes(agent.ID, []byte) error { return nil }
