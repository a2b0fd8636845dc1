package p2p

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// raw connects to member 0 as the holder of member i's key, and opens a stream.
func raw(t testing.TB, tr *Transport) network.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	at, err := resolve(ctx, tr.cfg.address(0))
	if err != nil || tr.dial(ctx, tr.peers[0][0], at) != nil {
		return nil
	}
	s, err := tr.swarm.NewStream(ctx, tr.peers[0][0])
	if err != nil {
		return nil
	}
	if s.SetProtocol(protocol) != nil {
		return nil
	}
	return s
}

// Whoever has a member's key, and keeps many connections with many frames half sent from
// elsewhere, does not stop the member's own node: its frames come through all the while.
func TestHalfSentFramesDoNotStopTheirMember(t *testing.T) {
	const size = 1 << 20
	l := openLoopback(t, 2, size)
	victim := l.Open(t, 0)
	defer victim.Close()
	var taken atomic.Int64
	victim.Serve(func(agent.ID, []byte) error { taken.Add(1); return nil })
	honest := l.Open(t, 1).(*Transport)
	defer honest.Close()
	honest.Serve(func(agent.ID, []byte) error { return nil })
	if err := send(honest, 0); err != nil {
		t.Fatal(err)
	}
	whole := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Sender: 1, Payload: make([]byte, size)})
	ctx, stop := context.WithCancel(context.Background())
	var thieves sync.WaitGroup
	var opened atomic.Int64
	for range 10 {
		thief := l.Open(t, 1).(*Transport)
		thief.Serve(func(agent.ID, []byte) error { return nil })
		thieves.Go(func() {
			defer thief.Close()
			for ctx.Err() == nil {
				began := time.Now()
				for range 12 {
					if s := raw(t, thief); s != nil {
						s.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
						s.Write(whole[:size/2])
						opened.Add(1)
					}
				}
				// of a slow machine not all: this is about room, not processors
				time.Sleep(max(100*time.Millisecond, 2*time.Since(began)))
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	with := &victim.(*Transport).with[1]
	var most atomic.Int64
	for k := range 20 {
		with.mu.Lock()
		most.Store(max(most.Load(), int64(with.held)))
		with.mu.Unlock()
		began := time.Now()
		if err := through(honest, 0, whole); err != nil {
			t.Fatalf("frame %d beside %d half-sent frames: %v", k, opened.Load(), err)
		}
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("frame %d took %v", k, d)
		}
		// a connection may be cut to make room while the frame is on its way
		if err := through(victim, 1, frame.Append(nil, &frame.Frame{Kind: frame.Hello})); err != nil {
			t.Fatalf("the way back, frame %d: %v", k, err)
		}
	}
	stop()
	thieves.Wait()
	if n := most.Load(); n > int64(with.budget) || n == 0 {
		t.Errorf("half-sent frames held %d bytes, allowed: more than none and at most %d", n, with.budget)
	}
	if opened.Load() < 20 {
		t.Errorf("%d frames were half sent: too few to show anything", opened.Load())
	}
}

// through sends a frame until it is taken, as a node does, for at most a minute.
func through(tr node.Transport, to agent.ID, raw []byte) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if err = tr.Send(ctx, to, raw); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// hold opens connections to an address that say nothing, and keeps up their number, until
// stop is called.
func hold(address string, many int) (stop func() (opened int64)) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var opened atomic.Int64
	for range many {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := net.Dial("tcp", address)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				opened.Add(1)
				end := context.AfterFunc(ctx, func() { c.Close() })
				io.Copy(io.Discard, c)
				end()
				c.Close()
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	return func() int64 {
		cancel()
		all.Wait()
		return opened.Load()
	}
}

// Half-open connections of strangers, more than a node has room for, keep neither a
// member from connecting nor the node from connecting to others.
func TestHalfOpenConnectionsKeepNobodyOut(t *testing.T) {
	l := openLoopback(t, 4, 1000)
	a := l.Open(t, 0)
	defer a.Close()
	a.Serve(func(agent.ID, []byte) error { return nil })
	stop := hold(l.address(0), 400)
	defer stop()
	time.Sleep(500 * time.Millisecond)
	for i := agent.ID(1); i < 4; i++ {
		b := l.Open(t, i)
		b.Serve(func(agent.ID, []byte) error { return nil })
		began := time.Now()
		if i == 1 { // the node connects
			if err := retry(a, i); err != nil {
				t.Errorf("to member %d: %v", i, err)
			}
		} else if err := retry(b, 0); err != nil {
			t.Errorf("from member %d: %v", i, err)
		}
		t.Logf("member %d: %v", i, time.Since(began).Round(time.Millisecond))
		b.Close()
	}
	if opened := stop(); opened < 300 {
		t.Errorf("%d connections were opened, too few to show anything", opened)
	}
}

// retry sends as a node does, for at most 30 s.
func retry(tr node.Transport, to agent.ID) (err error) {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		if err = send(tr, to); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
