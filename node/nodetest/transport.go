// Package nodetest holds the conformance suites of package node: one that every Transport
// passes, and one in which every synchronous algorithm equals the simulator bit for bit.
package nodetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
)

// Network is how the suite gets transports.
type Network interface {
	// Open returns member i's transport. After its Close it may be opened again.
	Open(t testing.TB, i agent.ID) node.Transport
}

// MaxPayload is the limit that the suite's networks are made with.
const MaxPayload = 1 << 20

// Transport checks what nodes rely on. open makes a network of so many members, none of
// them open, for payloads of at most MaxPayload bytes.
func Transport(t *testing.T, open func(t testing.TB, members int) Network) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, n Network)
	}{
		{"bytes arrive whole, from an authenticated sender", arrives},
		{"refusals come back", refusals},
		{"what is no frame is handed over as far as it was read", malformed},
		{"one at a time for each sender, senders beside each other", concurrent},
		{"a peer that is away is unreachable, and found when it is back", away},
		{"sends end with their context", expires},
		{"close waits for handlers and ends sends", closing},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(t, open(t, 3)) })
	}
}

// box is a handler that keeps what it gets.
type box struct {
	mu     sync.Mutex
	frames [][]byte
	from   []agent.ID
	answer error
}

func (b *box) handle(from agent.ID, raw []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames, b.from = append(b.frames, slices.Clone(raw)), append(b.from, from)
	clear(raw) // the bytes are the handler's
	return b.answer
}

func (b *box) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.frames)
}

func messages(sender agent.ID, round uint64, payload []byte) []byte {
	return frame.Append(nil, &frame.Frame{Kind: frame.Messages, Sender: sender, Round: round,
		Payload: payload})
}

func serve(t testing.TB, n Network, i agent.ID, h node.Handler) node.Transport {
	t.Helper()
	tr := n.Open(t, i)
	tr.Serve(h)
	t.Cleanup(func() { tr.Close() })
	return tr
}

// await takes what a channel gives; a suite that waits for good shows nothing.
func await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s: not within a minute", what)
	}
}

func send(tr node.Transport, to agent.ID, b []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return tr.Send(ctx, to, b)
}

func arrives(t *testing.T, n Network) {
	var at0, at1, at2 box
	a, b := serve(t, n, 0, at0.handle), serve(t, n, 1, at1.handle)
	serve(t, n, 2, at2.handle)
	big := make([]byte, MaxPayload)
	for i := range big {
		big[i] = byte(i * 7)
	}
	for k, payload := range [][]byte{nil, {1, 2, 3}, big} {
		want := messages(0, uint64(k), payload)
		if err := send(a, 1, want); err != nil {
			t.Fatal(err)
		}
		if at1.count() != k+1 || !bytes.Equal(at1.frames[k], want) || at1.from[k] != 0 {
			t.Fatalf("frame %d did not arrive as it was sent", k)
		}
	}
	if err := send(b, 0, messages(1, 0, nil)); err != nil || at0.count() != 1 || at0.from[0] != 1 {
		t.Fatalf("the way back: %v, %d frames", err, at0.count())
	}
	if at2.count() != 0 {
		t.Error("a third member got frames")
	}
	// What a frame says about its sender is not what the transport says.
	if err := send(a, 1, messages(2, 9, nil)); err != nil || at1.from[3] != 0 {
		t.Errorf("sender %d, %v; want 0", at1.from[3], err)
	}
}

func refusals(t *testing.T, n Network) {
	var at1 box
	a := serve(t, n, 0, new(box).handle)
	serve(t, n, 1, at1.handle)
	for _, r := range []node.Refusal{node.RefusedFrame, node.RefusedVersion, node.RefusedRun,
		node.RefusedSender, node.RefusedAhead} {
		at1.answer = fmt.Errorf("private words: %w", r)
		err := send(a, 1, messages(0, 1, nil))
		var got node.Refusal
		if !errors.As(err, &got) || got != r || errors.Is(err, node.ErrUnreachable) {
			t.Errorf("refusal %v came back as %v", r, err)
		}
	}
	shown := bytes.Repeat([]byte{1, 2, 3, 4}, mark.Size/4+1)[:mark.Size]
	at1.answer = fmt.Errorf("private words: %w", &node.Twin{Mark: shown})
	var twin *node.Twin
	if err := send(a, 1, messages(0, 1, nil)); !errors.As(err, &twin) || !bytes.Equal(twin.Mark, shown) ||
		!errors.Is(err, node.RefusedTwin) {
		t.Errorf("a twin's mark came back as %v", err)
	}
	at1.answer = node.RefusedTwin
	if err := send(a, 1, messages(0, 1, nil)); !errors.Is(err, node.RefusedFrame) {
		t.Errorf("a twin without a mark came back as %v", err)
	}
	at1.answer = errors.New("no reason")
	if err := send(a, 1, messages(0, 1, nil)); !errors.Is(err, node.RefusedFrame) {
		t.Errorf("an error without a reason came back as %v", err)
	}
	at1.answer = nil
	if err := send(a, 1, messages(0, 1, nil)); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func malformed(t *testing.T, n Network) {
	var got [][]byte
	a := serve(t, n, 0, new(box).handle)
	serve(t, n, 1, func(from agent.ID, b []byte) error {
		got = append(got, slices.Clone(b))
		_, err := frame.Decode(b, MaxPayload)
		return err
	})
	over := messages(0, 1, make([]byte, MaxPayload+1))
	for k, b := range [][]byte{bytes.Repeat([]byte("x"), 500), over} {
		if err := send(a, 1, b); !errors.Is(err, node.RefusedFrame) {
			t.Fatalf("case %d: %v, want a refusal", k, err)
		}
		if len(got) != k+1 || !bytes.Equal(got[k], b[:frame.HeaderSize]) {
			t.Fatalf("case %d: the handler got %d bytes, want the header", k, len(got[k]))
		}
	}
	if err := send(a, 1, messages(0, 1, nil)); err != nil || len(got) != 3 {
		t.Errorf("a frame after garbage: %v", err)
	}
}

func concurrent(t *testing.T, n Network) {
	var mu sync.Mutex
	running, most := map[agent.ID]int{}, 0
	arrived := make(chan struct{}, 6)
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	serve(t, n, 2, func(from agent.ID, b []byte) error {
		mu.Lock()
		running[from]++
		most = max(most, running[from])
		mu.Unlock()
		arrived <- struct{}{}
		<-release
		mu.Lock()
		running[from]--
		mu.Unlock()
		return nil
	})
	var wg sync.WaitGroup
	for _, i := range []agent.ID{0, 1} {
		tr := serve(t, n, i, new(box).handle)
		for range 3 {
			wg.Go(func() {
				if err := send(tr, 2, messages(i, 1, nil)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	await(t, arrived, "a frame arrives")
	await(t, arrived, "one of the other sender: neither waits for the other")
	if len(running) != 2 {
		t.Errorf("frames of %d senders are handled at the same time, want 2", len(running))
	}
	free()
	wg.Wait()
	if most != 1 {
		t.Errorf("%d frames of one sender at the same time, want 1", most)
	}
}

func away(t *testing.T, n Network) {
	a := serve(t, n, 0, new(box).handle)
	if err := send(a, 1, messages(0, 1, nil)); !errors.Is(err, node.ErrUnreachable) {
		t.Fatalf("a peer that never came: %v", err)
	}
	for k := range 3 {
		var at1 box
		b := n.Open(t, 1)
		b.Serve(at1.handle)
		var err error
		for range 100 { // the first attempts may meet the connection that broke
			if err = send(a, 1, messages(0, uint64(k), nil)); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil || at1.count() == 0 {
			t.Fatalf("visit %d: %v", k, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := send(a, 1, messages(0, 7, nil)); !errors.Is(err, node.ErrUnreachable) {
			t.Fatalf("after visit %d: %v, want unreachable", k, err)
		}
	}
	if err := send(a, 77, messages(0, 1, nil)); !errors.Is(err, node.ErrUnreachable) {
		t.Errorf("nobody's number: %v", err)
	}
}

func expires(t *testing.T, n Network) {
	a := serve(t, n, 0, new(box).handle)
	serve(t, n, 1, new(box).handle)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Send(ctx, 1, messages(0, 1, nil)); !errors.Is(err, node.ErrUnreachable) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want unreachable because canceled", err)
	}
}

func closing(t *testing.T, n Network) {
	entered, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	a := serve(t, n, 0, new(box).handle)
	b := n.Open(t, 1)
	b.Serve(func(agent.ID, []byte) error {
		close(entered)
		<-release
		return nil
	})
	go send(a, 1, messages(0, 1, nil))
	await(t, entered, "a frame arrives")
	closed := make(chan struct{})
	go func() {
		b.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("closed while a handler ran")
	case <-time.After(30 * time.Millisecond):
	}
	free()
	await(t, closed, "a close after its handlers")
	if err := send(b, 0, messages(1, 1, nil)); !errors.Is(err, node.ErrUnreachable) {
		t.Errorf("a send after close: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
}
