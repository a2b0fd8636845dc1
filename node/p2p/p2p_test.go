package p2p

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/goleak"

	"sotto/agent"
	"sotto/algo"
	"sotto/internal/scratch"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(scratch.InMemory(m)) }

// loopback is a network of transports on this machine. Each listens on a port that the
// system gives it, and tells the others: a port that was free a moment ago may be taken.
type loopback struct {
	keys     []ed25519.PrivateKey
	members  []Member
	max      int
	courtesy time.Duration // 0: as usual
	noise    agent.ID      // this member offers nothing but Noise; none for a number that nobody has
	mu       sync.Mutex
	at       []string // where each member listens
}

// anyPort is where members listen, and nobody where they are looked for before they do.
const anyPort, nobodys = "127.0.0.1:0", "127.0.0.1:1"

func openLoopback(t testing.TB, members, maxPayload int) *loopback {
	t.Helper()
	l := &loopback{max: maxPayload, noise: agent.Broadcast}
	for range members {
		public, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		l.keys, l.at = append(l.keys, key), append(l.at, nobodys)
		l.members = append(l.members, Member{Key: public, Address: anyPort})
	}
	return l
}

// address is where member i listens.
func (l *loopback) address(i agent.ID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at[i]
}

// listens makes a transport's port member i's.
func (l *loopback) listens(t testing.TB, i agent.ID, tr *Transport) {
	t.Helper()
	at, err := manet.ToNetAddr(tr.swarm.ListenAddresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[i] = at.String()
}

func (l *loopback) Open(t testing.TB, i agent.ID) node.Transport {
	t.Helper()
	c := Config{Key: l.keys[i], Members: l.members, MaxPayload: l.max,
		hooks: hooks{handshake: time.Second, courtesy: l.courtesy, address: l.address}}
	if i == l.noise {
		c.security = "noise"
	}
	tr, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l.listens(t, i, tr)
	return tr
}

func TestConformsOnLoopback(t *testing.T) {
	nodetest.Transport(t, func(t testing.TB, members int) nodetest.Network {
		return openLoopback(t, members, nodetest.MaxPayload)
	})
}

func TestNodesEqualTheSimulatorOnLoopback(t *testing.T) {
	for _, name := range []string{"dsgd", "dsgt", "dinno"} {
		t.Run(name, func(t *testing.T) {
			f, err := algo.New(name, func(any) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			nodetest.Equal(t, nodetest.Options{Factory: f}, func(t testing.TB, members int) nodetest.Network {
				l := openLoopback(t, members, node.MaxPayload(nodetest.Dim))
				l.noise = 2 // TLS with the others, Noise with this one
				return l
			})
		})
	}
}

func send(tr node.Transport, to agent.ID) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return tr.Send(ctx, to, frame.Append(nil, &frame.Frame{Kind: frame.Hello}))
}

func nobody(t *testing.T) node.Handler {
	return func(from agent.ID, _ []byte) error {
		t.Errorf("a frame of agent %d came through", from)
		return nil
	}
}

// TLS 1.3 is used between members that offer it, Noise where one offers nothing else.
func TestSecurity(t *testing.T) {
	l := openLoopback(t, 3, 1000)
	l.noise = 2
	trs := make([]*Transport, 3)
	for i := range trs {
		trs[i] = l.Open(t, agent.ID(i)).(*Transport)
		defer trs[i].Close()
		trs[i].Serve(func(agent.ID, []byte) error { return nil })
	}
	for _, tc := range []struct {
		from, to int
		want     string
	}{{0, 1, "/tls/1.0.0"}, {0, 2, "/noise"}, {2, 1, "/noise"}} {
		if err := send(trs[tc.from], agent.ID(tc.to)); err != nil {
			t.Fatal(err)
		}
		for _, c := range trs[tc.from].swarm.ConnsToPeer(trs[tc.from].peers[tc.to][0]) {
			if s := c.ConnState(); string(s.Security) != tc.want || s.StreamMultiplexer != "/yamux/1.0.0" ||
				s.Transport != "tcp" {
				t.Errorf("%d to %d: %+v, want %s", tc.from, tc.to, s, tc.want)
			}
		}
	}
}

// Members that start together share one connection for both directions; one whose peer of
// a lower number does not connect makes it after a while.
func TestOneConnectionForBothDirections(t *testing.T) {
	const members = 4
	l := openLoopback(t, members, 1000)
	l.courtesy = 2 * time.Second // a busy machine takes long to connect
	trs := make([]*Transport, members)
	for i := range trs {
		trs[i] = l.Open(t, agent.ID(i)).(*Transport)
		defer trs[i].Close()
		trs[i].Serve(func(agent.ID, []byte) error { return nil })
	}
	if err := send(trs[3], 2); err != nil { // 2 is silent
		t.Fatal(err)
	}
	var senders sync.WaitGroup
	for i := range trs {
		for j := range trs {
			if i != j {
				senders.Go(func() {
					if err := send(trs[i], agent.ID(j)); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	senders.Wait()
	for i, tr := range trs {
		if n := len(tr.swarm.Conns()); n != members-1 {
			t.Errorf("member %d has %d connections, want one to each of %d", i, n, members-1)
		}
	}
}

// Whoever lacks a member's key gets no frame in and none out: a stranger that dials, and
// one that sits at a member's address.
func TestStrangersAreRefused(t *testing.T) {
	l := openLoopback(t, 2, 1000)
	a := l.Open(t, 0)
	defer a.Close()
	a.Serve(nobody(t))

	public, key, _ := ed25519.GenerateKey(nil)
	others := []Member{l.members[0], {Key: public, Address: anyPort}}
	stranger, err := New(Config{Key: key, Members: others, MaxPayload: 1000,
		hooks: hooks{address: l.address}})
	if err != nil {
		t.Fatal(err)
	}
	l.listens(t, 1, stranger)
	defer stranger.Close()
	stranger.Serve(nobody(t))
	if err := send(stranger, 0); !errors.Is(err, node.ErrUnreachable) {
		t.Errorf("a stranger sends: %v", err)
	}
	if err := send(a, 1); !errors.Is(err, node.ErrUnreachable) {
		t.Errorf("a frame to a stranger at a member's address: %v", err)
	}
	if _, err := New(Config{Key: key, Members: l.members, MaxPayload: 1000}); err == nil {
		t.Error("a transport opened with a key that is not on the roster")
	}
}

// Bytes that are no handshake end their connection, and members still get through.
func TestPlainTextIsRefused(t *testing.T) {
	l := openLoopback(t, 2, 1000)
	a, b := l.Open(t, 0), l.Open(t, 1)
	defer a.Close()
	defer b.Close()
	a.Serve(func(from agent.ID, _ []byte) error { return nil })
	b.Serve(nobody(t))
	var strangers sync.WaitGroup
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "\x13/multistream/1.0.0\n\x07/plain\n",
		strings.Repeat("\xff", 1<<16)} {
		strangers.Go(func() { // beside each other: two wait for the end of a handshake
			c, err := net.Dial("tcp", l.address(0))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			go io.WriteString(c, text)
			c.SetReadDeadline(time.Now().Add(30 * time.Second))
			answer, err := io.ReadAll(io.LimitReader(c, 1<<12))
			if errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(answer), "/plain") {
				t.Errorf("%q: answer %q, %v; want the connection to end", text[:5], answer, err)
			}
		})
	}
	strangers.Wait()
	if err := send(b, 0); err != nil {
		t.Errorf("a member after strangers: %v", err)
	}
}

// A member that moves behind its name is found: names are looked up for every connection.
// An address that is none fails with the reason.
func TestAddresses(t *testing.T) {
	at, err := resolve(context.Background(), "[::1]:4000")
	if err != nil || len(at) != 1 || at[0].String() != "/ip6/::1/tcp/4000" {
		t.Errorf("%v, %v", at, err)
	}
	at, err = resolve(context.Background(), "localhost:80")
	if err != nil || len(at) == 0 || !strings.HasSuffix(at[0].String(), "/tcp/80") {
		t.Errorf("%v, %v", at, err)
	}
	for _, bad := range []string{"nowhere", "1.2.3.4:x"} {
		if _, err := resolve(context.Background(), bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// BenchmarkFrame50MB sends frames of 50 MB between two members, for comparison with
// BenchmarkTLS50MB.
func BenchmarkFrame50MB(b *testing.B) {
	const size = 50 << 20
	l := openLoopback(b, 2, size)
	x, y := l.Open(b, 0), l.Open(b, 1)
	defer x.Close()
	defer y.Close()
	x.Serve(func(agent.ID, []byte) error { return nil })
	y.Serve(func(agent.ID, []byte) error { return nil })
	f := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: make([]byte, size)})
	b.SetBytes(size)
	for b.Loop() {
		if err := x.Send(context.Background(), 1, f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTLS50MB copies as much over a plain TLS connection.
func BenchmarkTLS50MB(b *testing.B) {
	const size = 50 << 20
	public, key, _ := ed25519.GenerateKey(nil)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		b.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, size)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			c.Write([]byte{0})
		}
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	payload, answer := make([]byte, size), make([]byte, 1)
	b.SetBytes(size)
	for b.Loop() {
		c.Write(payload)
		if _, err := io.ReadFull(c, answer); err != nil {
			b.Fatal(err)
		}
	}
}
