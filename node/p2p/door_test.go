package p2p

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/agent"
	"sotto/node/frame"
)

// caller is a connection from an address that says nothing.
type caller struct {
	manet.Conn
	at    ma.Multiaddr
	ended bool
}

func (c *caller) RemoteMultiaddr() ma.Multiaddr { return c.at }
func (c *caller) RemoteAddr() net.Addr          { a, _ := manet.ToNetAddr(c.at); return a }
func (c *caller) Close() error                  { c.ended = true; return nil }

func call(h *hall, ip string) (*guest, *caller) {
	c := &caller{at: ma.StringCast("/ip4/" + ip + "/tcp/1")}
	g := &guest{Conn: c, hall: h, from: source(c)}
	h.enter(g)
	return g, c
}

// In a full hall whoever comes from the source with most is cut, silent ones and old ones
// first; a source that members come from counts for a quarter.
func TestWhoIsCutFromAFullHall(t *testing.T) {
	var log bytes.Buffer
	h := newHall(6, slog.New(slog.NewTextHandler(&log, nil)))
	h.know(netip.MustParsePrefix("10.0.0.1/32"))
	_, lone := call(h, "10.0.0.9")
	var known []*caller
	for range 3 {
		_, c := call(h, "10.0.0.1")
		known = append(known, c)
	}
	spoke, first := call(h, "10.0.0.7")
	spoke.spoke.Store(true)
	_, second := call(h, "10.0.0.7")
	_, third := call(h, "10.0.0.7") // the seventh
	if !second.ended || first.ended || third.ended || lone.ended {
		t.Errorf("cut: %v %v %v of the source with most, and %v alone", first.ended, second.ended,
			third.ended, lone.ended)
	}
	for k, c := range known {
		if c.ended {
			t.Errorf("connection %d of a known source was cut", k)
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "10.0.0.7:1") {
		t.Errorf("the log says %q", text)
	}
	g, c := call(h, "10.0.0.8")
	g.Close()
	h.leave(g) // once is enough
	if !c.ended || h.count != 5 {
		t.Errorf("%d wait, want 5", h.count)
	}
}

// The log names a member whose frame is half sent, by the roster's name, before it has
// ended. The frame is taken when the rest comes.
func TestTheLogNamesAHalfSentFrame(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s")
	}
	l := openLoopback(t, 2, 1000)
	l.members[1].Name = "bob"
	var mu sync.Mutex
	var text bytes.Buffer
	tr, err := New(Config{Key: l.keys[0], Members: l.members, MaxPayload: 1000,
		Log:   slog.New(slog.NewTextHandler(locked{&mu, &text}, nil)),
		hooks: hooks{address: l.address}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var got atomic.Int64
	tr.Serve(func(_ agent.ID, raw []byte) error {
		got.Store(int64(len(raw)))
		return nil
	})
	l.listens(t, 0, tr)
	b := l.Open(t, 1).(*Transport)
	defer b.Close()
	s := raw(t, b)
	if s == nil {
		t.Fatal("no stream")
	}
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: make([]byte, 500)})
	if _, err := s.Write(raw[:100]); err != nil {
		t.Fatal(err)
	}
	found := false
	for until := time.Now().Add(slowAfter + 4*time.Second); time.Now().Before(until) && !found; {
		mu.Lock()
		found = strings.Contains(text.String(), `"a frame is long in coming" peer="bob (agent 1)"`)
		mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
	if !found {
		t.Errorf("the log says %q", text.String())
	}
	answer := []byte{9}
	if _, err := s.Write(raw[100:]); err != nil {
		t.Fatal(err)
	}
	s.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(s, answer); err != nil || answer[0] != 0 || got.Load() != int64(len(raw)) {
		t.Errorf("the rest of the frame: answer %d, %v, %d bytes", answer[0], err, got.Load())
	}
}

type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// Errors name members by the roster, in one line, and not by libp2p's ids.
func TestErrorsNameMembers(t *testing.T) {
	l := openLoopback(t, 3, 1000)
	l.members[1].Name, l.members[1].Address = "bob", nobodys
	tr, err := New(Config{Key: l.keys[0], Members: l.members, MaxPayload: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	other := l.Open(t, 2) // at bob's address
	defer other.Close()
	for _, at := range []string{nobodys, l.address(2)} {
		tr.cfg.address = func(agent.ID) string { return at }
		err = send(tr, 1)
		if err == nil || !strings.Contains(err.Error(), "bob (agent 1): "+at) ||
			strings.Contains(err.Error(), "12D3Koo") || strings.Contains(err.Error(), "\n") {
			t.Errorf("a member that is not there: %v", err)
		}
	}
	if at, err := tr.relayed(context.Background(), 1); at != nil || err != nil {
		t.Errorf("ways by relays without one: %v, %v", at, err)
	}
	if tr.swarm.Connectedness(tr.peers[1][0]) == network.Connected {
		t.Error("connected to another in bob's place")
	}
}
