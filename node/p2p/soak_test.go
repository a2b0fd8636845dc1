//go:build soak

package p2p

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
)

func soakTime(t *testing.T) time.Duration {
	v := os.Getenv("SOTTO_SOAK")
	if v == "" {
		return 10 * time.Second
	}
	soak, err := time.ParseDuration(v)
	if err != nil || soak <= 0 {
		t.Fatalf("SOTTO_SOAK: found %q, allowed: a duration above 0", v)
	}
	return soak
}

// fuzz sends frames to member 0 that are wrong in many ways, and counts them.
func fuzz(ctx context.Context, from node.Transport, run [32]byte, count *atomic.Uint64) {
	chance := rng.Public(uint64(time.Now().UnixNano()), "fuzzed frames")
	for ctx.Err() == nil {
		from.Send(ctx, 0, fuzzed(chance, run))
		count.Add(1)
	}
}

// dial sends bytes to an address that know nothing of the run, and counts connections.
func dial(ctx context.Context, address string, count *atomic.Uint64) {
	chance := rng.Public(uint64(time.Now().UnixNano()), "strangers")
	for ctx.Err() == nil {
		if c, err := net.Dial("tcp", address); err == nil {
			b := make([]byte, 1+chance.Below(1<<12))
			fill(chance, b)
			c.Write(b)
			c.Close()
			count.Add(1)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestSoak feeds a node over TLS on loopback, for a time, with frames that a malicious
// member makes up, and its port with bytes of strangers. The node must neither end nor
// grow, have refused frames, and stop when it is told to. Among millions of frames some
// are such as the member might have sent, and count as its own: what it then lacks of
// others is not sent again, so that its honest node could not end the run.
//
//	SOTTO_SOAK=10m go test -tags soak -run Soak -v -timeout 30m ./node/p2p
func TestSoak(t *testing.T) {
	soak := soakTime(t)
	f, err := algo.New("dsgd", func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l := openLoopback(t, 3, node.MaxPayload(nodetest.Dim))
	var keys []ed25519.PublicKey
	for _, m := range l.members {
		keys = append(keys, m.Key)
	}
	w := nodetest.NewWorld(t, nodetest.Options{Factory: f, Agents: 3, Change: func(_ int, c *node.Config) {
		c.Keys, c.Linger = keys, 5*time.Second
	}})
	ended := make(chan error, 2)
	running, end := context.WithCancel(context.Background())
	defer end()
	start := func(i agent.ID) *node.Node {
		tr := l.Open(t, i)
		n, store, err := w.Node(t, int(i), tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			err := n.Run(running)
			tr.Close()
			store.Close()
			ended <- err
		}()
		return n
	}
	victim := start(0)
	start(2)
	bad := l.Open(t, 1)
	bad.Serve(func(agent.ID, []byte) error { return nil })

	ctx, stop := context.WithTimeout(context.Background(), soak)
	defer stop()
	var frames, strangers atomic.Uint64
	quiet := make(chan bool)
	go func() {
		fuzz(ctx, bad, w.Run, &frames)
		quiet <- true
	}()
	go func() {
		dial(ctx, l.address(0), &strangers)
		quiet <- true
	}()
	first := 0.
	for began, mark := time.Now(), soak/10; ctx.Err() == nil; {
		select {
		case err := <-ended:
			t.Fatalf("a node ended under fuzzed input: %v", err)
		case <-ctx.Done():
		case <-time.After(max(mark, time.Second)):
			now := inUse()
			if first == 0 {
				first = now
			}
			t.Logf("%v: %d frames, %d strangers, %.1f MB in use", time.Since(began).Round(time.Second),
				frames.Load(), strangers.Load(), now/(1<<20))
			if now > first+8<<20 {
				t.Fatalf("%.1f MB more than at first", (now-first)/(1<<20))
			}
		}
	}
	<-quiet
	<-quiet
	bad.Close()
	if counts := victim.Status().Counts; counts.Refused == 0 {
		t.Errorf("no frame was refused: %+v", counts)
	}
	end()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a node ends with %v", err)
		}
	}
}

// inUse is what is in use after a collection, with stacks.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

func fill(chance *rng.Stream, b []byte) {
	for i := range b {
		b[i] = byte(chance.Below(256))
	}
}

// fuzzed is a frame of member 1 with something wrong about it, mostly: its kind, round,
// payload, or some of its bytes. Its checksums fit in half of the cases, so that what
// lies behind them is reached.
func fuzzed(chance *rng.Stream, run [32]byte) []byte {
	rounds := []uint64{0, 0, 1, 2, 11, 12, 1 << 40, 1<<64 - 1}
	f := frame.Frame{
		Kind:   frame.Kind(1 + chance.Below(7)),
		Run:    run,
		Sender: 1,
		Round:  rounds[chance.Below(uint64(len(rounds)))],
	}
	switch chance.Below(4) {
	case 0:
	case 1: // text, as of a claim
		f.Payload = []byte(`{"head":{"seq":1,"hash":"00","signature":"00"},"epsilon":1,"delta":1e-5}`)
	case 2:
		f.Payload = make([]byte, chance.Below(uint64(node.MaxPayload(nodetest.Dim)+100)))
		fill(chance, f.Payload)
	default:
		for range 1 + chance.Below(3) {
			body := make([]float32, chance.Below(4*nodetest.Dim))
			// a member whose messages were taken has to go on from them, or all wait for
			// it
			if len(body) == nodetest.Dim {
				body = body[1:]
			}
			m := agent.Message{From: 1, To: agent.Broadcast, Round: f.Round, Body: body}
			f.Payload = agent.AppendMessage(f.Payload, &m)
		}
		// no message is the algorithm's
		f.Payload[chance.Below(uint64(len(f.Payload)))] ^= byte(1 + chance.Below(255))
	}
	if f.Kind == frame.Messages && len(f.Payload) == 0 { // a round without messages is one that is taken
		f.Payload = []byte{7}
	}
	b := frame.Append(nil, &f)
	for range chance.Below(4) {
		b[chance.Below(uint64(len(b)))] ^= byte(1 << chance.Below(8))
	}
	if chance.Below(2) == 0 {
		table := crc32.MakeTable(crc32.Castagnoli)
		binary.LittleEndian.PutUint32(b[56:], crc32.Checksum(b[frame.HeaderSize:], table))
		binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], table))
	}
	return b[:len(b)-int(chance.Below(2)*chance.Below(uint64(len(b))))]
}
