package p2p

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corehost "github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2pprotocol "github.com/libp2p/go-libp2p/core/protocol"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
)

// hidden is a network of members of whom none listens, and who have relays or a proxy.
type hidden struct {
	*loopback
	reach Reach
}

func (h hidden) Open(t testing.TB, i agent.ID) node.Transport {
	t.Helper()
	tr, err := New(Config{Key: h.keys[i], Members: h.members, Listen: NoListen, MaxPayload: h.max,
		Reach: h.reach, hooks: hooks{handshake: 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 { // a member whose place is not kept yet cannot be reached
		if tr.circuits == nil || tr.circuits.kept.Load() > 0 {
			return tr
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("member %d has no place at the relay after a minute", i)
	return tr
}

// openHidden is a network by a relay; wrap sees what the relay sees.
func openHidden(t testing.TB, members, maxPayload int, wrap func(corehost.Host) corehost.Host) hidden {
	t.Helper()
	h := hidden{loopback: openLoopback(t, members, maxPayload)}
	for i := range h.members {
		h.members[i].Address = "nowhere.invalid:1"
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRelay(RelayConfig{Key: key, Members: h.members, Listen: anyPort, wrap: wrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	point, err := ParseRelay(r.Points()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	h.reach.Relays = []RelayPoint{point}
	return h
}

func TestTransportByARelay(t *testing.T) {
	nodetest.Transport(t, func(t testing.TB, members int) nodetest.Network {
		return openHidden(t, members, nodetest.MaxPayload, nil)
	})
}

// Members without any inbound port end with the simulator's bits.
func TestMembersWithoutAPortEqualTheSimulator(t *testing.T) {
	f, err := algo.New("dsgt", func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, agents := range []int{2, 4} {
		graph := map[int]string{2: "complete", 4: "ring"}[agents]
		nodetest.Equal(t, nodetest.Options{Factory: f, Agents: agents, Graph: graph},
			func(t testing.TB, members int) nodetest.Network {
				return openHidden(t, members, node.MaxPayload(nodetest.Dim), nil)
			})
	}
}

// tap is a relay's host that notes all bytes that pass.
type tap struct {
	corehost.Host
	mu   *sync.Mutex
	seen *bytes.Buffer
}

func (p tap) NewStream(ctx context.Context, id peer.ID, ps ...libp2pprotocol.ID) (network.Stream, error) {
	s, err := p.Host.NewStream(ctx, id, ps...)
	if err != nil {
		return nil, err
	}
	return tapped{s, p}, nil
}

func (p tap) SetStreamHandler(id libp2pprotocol.ID, h network.StreamHandler) {
	p.Host.SetStreamHandler(id, func(s network.Stream) { h(tapped{s, p}) })
}

type tapped struct {
	network.Stream
	tap tap
}

func (s tapped) Read(b []byte) (int, error) {
	n, err := s.Stream.Read(b)
	s.tap.mu.Lock()
	s.tap.seen.Write(b[:n])
	s.tap.mu.Unlock()
	return n, err
}

// A relay sees who talks to whom and how much, and nothing of what frames say: neither
// their payload nor their header.
func TestARelaySeesCiphertextAlone(t *testing.T) {
	var mu sync.Mutex
	var seen bytes.Buffer
	h := openHidden(t, 2, 1<<20, func(b corehost.Host) corehost.Host { return tap{b, &mu, &seen} })
	a, b := h.Open(t, 0).(*Transport), h.Open(t, 1).(*Transport)
	defer a.Close()
	defer b.Close()
	secret := bytes.Repeat([]byte("a model of secrets "), 5000)
	got := make(chan []byte, 1)
	b.Serve(func(_ agent.ID, raw []byte) error { got <- slices.Clone(raw); return nil })
	a.Serve(func(agent.ID, []byte) error { return nil })
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: secret})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for { // the receiver may not have its place at the relay yet
		err := a.Send(ctx, 1, raw)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !bytes.Equal(<-got, raw) {
		t.Fatal("another frame arrived")
	}
	mu.Lock()
	defer mu.Unlock()
	if seen.Len() < len(raw) || !bytes.Contains(seen.Bytes(), []byte("/tls/1.0.0")) ||
		!bytes.Contains(seen.Bytes(), []byte(b.peers[1][0])) {
		t.Fatalf("the tap saw %d bytes of %d, or not the negotiation: it shows nothing", seen.Len(),
			len(raw))
	}
	for _, text := range []string{"SOTF", "a model", "secrets"} {
		if bytes.Contains(seen.Bytes(), []byte(text)) {
			t.Errorf("the relay saw %q", text)
		}
	}
}

// A relay serves the members of its roster and nobody else.
func TestARelayRefusesStrangers(t *testing.T) {
	h := openHidden(t, 2, 1000, nil)
	b := h.Open(t, 1)
	defer b.Close()
	b.Serve(nobody(t))
	public, key, _ := ed25519.GenerateKey(nil)
	others := slices.Clone(h.members)
	others[0].Key = public
	s, err := New(Config{Key: key, Members: others, Listen: NoListen, MaxPayload: 1000, Reach: h.reach})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Serve(nobody(t))
	if err := send(s, 1); err == nil || !strings.Contains(err.Error(), "agent 1") ||
		strings.Contains(err.Error(), "12D3Koo") {
		t.Errorf("a stranger sends by a relay: %v", err)
	}
}

// connectProxy is an HTTP proxy that asks for a name and a password.
func connectProxy(t testing.TB, served *atomic.Int64) *httptest.Server {
	var all sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic bWU6c2VjcmV0" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		served.Add(1)
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			out.Close()
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		all.Go(func() { io.Copy(out, rw); out.(*net.TCPConn).CloseWrite() })
		all.Go(func() { io.Copy(c, out); c.Close(); out.Close() })
	}))
	t.Cleanup(func() { s.Close(); all.Wait() })
	return s
}

// A member that can only go out by an HTTP proxy reaches one that listens, by its name
// too, and a relay; without the password nobody, and the error says so.
func TestByAProxy(t *testing.T) {
	var served atomic.Int64
	p := connectProxy(t, &served)
	auth := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(auth, []byte("me:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLoopback(t, 2, 1000)
	a := l.Open(t, 0)
	defer a.Close()
	a.Serve(func(agent.ID, []byte) error { return nil })
	_, port, _ := net.SplitHostPort(l.address(0))
	for _, at := range []string{l.address(0), "localhost:" + port} {
		for file, want := range map[string]bool{auth: true, "": false} {
			proxy, err := ParseProxy(p.URL, file)
			if err != nil {
				t.Fatal(err)
			}
			b, err := New(Config{Key: l.keys[1], Members: l.members, Listen: NoListen, MaxPayload: 1000,
				Reach: Reach{Proxy: proxy}, hooks: hooks{address: func(agent.ID) string { return at }}})
			if err != nil {
				t.Fatal(err)
			}
			b.Serve(func(agent.ID, []byte) error { return nil })
			before := served.Load()
			err = send(b, 0)
			if want && (err != nil || served.Load() == before) ||
				!want && (err == nil || !strings.Contains(err.Error(), "407")) {
				t.Errorf("%s with %q by a proxy that served %d: %v", at, file, served.Load(), err)
			}
			b.Close()
		}
	}
	h := openHidden(t, 2, 1000, nil)
	h.reach.Proxy, _ = ParseProxy(p.URL, auth)
	x, y := h.Open(t, 0), h.Open(t, 1)
	defer x.Close()
	defer y.Close()
	x.Serve(nobody(t))
	y.Serve(func(agent.ID, []byte) error { return nil })
	if err := retry(x, 1); err != nil {
		t.Errorf("by a proxy and a relay: %v", err)
	}
}

func TestParseReach(t *testing.T) {
	for _, bad := range []string{"", "proxy:3128", "ftp://p:1", "http://", "http://me:secret@p:1",
		"http://p:1/x", "http://me:secret%zz@p:1", "me:secret@p:1", "http:me:secret@p:1"} {
		if _, err := ParseProxy(bad, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("proxy %q: %v", bad, err)
		}
	}
	key := strings.Repeat("ab", 32)
	for _, bad := range []string{"", "h:1", "h/" + key, "h:1/12", "/ip4/1.2.3.4/tcp/1", "/dns4/h/udp/1"} {
		if _, err := ParseRelay(bad); err == nil {
			t.Errorf("relay %q was accepted", bad)
		}
	}
	l := openLoopback(t, 1, 1)
	id, _ := peerOf(l.members[0].Key, "")
	want := RelayPoint{"1.2.3.4:80", l.members[0].Key}
	for _, s := range []string{want.String(), "/ip4/1.2.3.4/tcp/80/p2p/" + id.String()} {
		if got, err := ParseRelay(s); err != nil || got.String() != want.String() {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}
