// Package p2p carries frames between the members of a roster over libp2p: TCP with TLS
// 1.3, or Noise where a peer offers nothing else, and yamux. It is the one package that
// imports libp2p.
//
// The swarm is put together by hand: no relay, no hole punching, no identify protocol, no
// QUIC. Addresses are those of the roster or, where an owner asks for it, what members
// say in the local network by multicast DNS. A connection of anybody who is not on it
// ends when the handshake has shown the key. Frames go over streams that stay open, one
// after the other: a frame one way, one byte of answer the other.
package p2p

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/agent"
	"sotto/config"
	"sotto/node"
)

const (
	protocol = "/sotto/frame/1"
	// dialTimeout bounds one attempt to connect, with its handshake.
	dialTimeout = 15 * time.Second
	// handshakeTimeout is how long whoever connects may take to show its key.
	handshakeTimeout = 10 * time.Second
	// courtesy is how long a member leaves it to one of a lower number to connect: two
	// that start together would make two connections, and a handshake costs more
	// processor time than a round.
	courtesy = 500 * time.Millisecond
)

// Member is one entry of the roster.
type Member struct {
	Key     ed25519.PublicKey
	Address string // host:port
}

// Config is what a transport needs.
type Config struct {
	Key        ed25519.PrivateKey // of the member that this transport is
	Members    []Member           // by agent number
	Listen     string             // host:port to listen on; "": the member's own address of the roster
	MaxPayload int
	// MDNS announces this member in the local network by multicast DNS, and asks there
	// for members who are not at their roster's address.
	MDNS bool
	Log  *slog.Logger // nil: none

	security  string                // tests: "noise" alone, or "" for both
	handshake time.Duration         // tests: in place of handshakeTimeout
	address   func(agent.ID) string // tests: where members listen, in place of their addresses
}

// Transport is a node.Transport over libp2p.
type Transport struct {
	cfg  Config
	self agent.ID
	log  *slog.Logger
	host
	peers    []peer.ID
	numbers  map[peer.ID]agent.ID
	incoming []incoming // by agent
	idle     []idle     // by agent

	mu sync.Mutex
	serving
}

// host is what libp2p gives.
type host struct {
	swarm *swarm.Swarm
	rcmgr network.ResourceManager
	store peerstore.Peerstore
	local *local // nil: no multicast DNS
}

// serving is what takes frames in.
type serving struct {
	handler node.Handler
	closed  bool
	running sync.WaitGroup
}

// idle is a stream to a member that waits for the next frame; nil: there is none.
type idle struct {
	mu     sync.Mutex
	stream network.Stream
	came   chan struct{} // capacity 1: the member has connected
}

// swap puts s in and returns what was there.
func (i *idle) swap(s network.Stream) network.Stream {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, i.stream = i.stream, s
	return s
}

var _ node.Transport = (*Transport)(nil)

// New opens a transport: it listens when it returns, and answers once Serve was called.
func New(cfg Config) (*Transport, error) {
	t := &Transport{
		cfg:      cfg,
		log:      cfg.Log,
		numbers:  map[peer.ID]agent.ID{},
		incoming: make([]incoming, len(cfg.Members)),
		idle:     make([]idle, len(cfg.Members)),
	}
	if t.log == nil {
		t.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	for i, m := range cfg.Members {
		key, err := crypto.UnmarshalEd25519PublicKey(m.Key)
		if err != nil {
			return nil, config.Bad(fmt.Sprintf("members[%d].key", i), len(m.Key),
				"an Ed25519 public key of 32 bytes")
		}
		id, err := peer.IDFromPublicKey(key)
		if err != nil {
			return nil, err
		}
		t.peers = append(t.peers, id)
		t.numbers[id] = agent.ID(i)
		t.idle[i].came = make(chan struct{}, 1)
	}
	secret, err := crypto.UnmarshalEd25519PrivateKey(cfg.Key)
	if err != nil {
		return nil, config.Bad("key", len(cfg.Key), "an Ed25519 private key of 64 bytes")
	}
	id, err := peer.IDFromPrivateKey(secret)
	if err != nil {
		return nil, err
	}
	self, ok := t.numbers[id]
	if !ok {
		return nil, config.Bad("key", "a key that is not on the roster", "the key of a member")
	}
	t.self = self
	if t.cfg.Listen == "" {
		t.cfg.Listen = cfg.Members[self].Address
	}
	if t.cfg.address == nil {
		t.cfg.address = func(i agent.ID) string { return cfg.Members[i].Address }
	}
	return t, t.open(id, secret)
}

// open builds the swarm and listens.
func (t *Transport) open(id peer.ID, secret crypto.PrivKey) (err error) {
	var undo []io.Closer
	defer func() {
		for _, c := range undo {
			if err != nil {
				c.Close()
			}
		}
	}()
	if t.rcmgr, err = limits(len(t.cfg.Members)); err != nil {
		return err
	}
	undo = append(undo, t.rcmgr)
	if t.store, err = pstoremem.NewPeerstore(); err != nil {
		return err
	}
	undo = append(undo, t.store)
	if err = t.store.AddPrivKey(id, secret); err != nil {
		return err
	}
	g := &gater{members: t.numbers, log: t.log}
	t.swarm, err = swarm.NewSwarm(id, t.store, eventbus.NewBus(), swarm.WithConnectionGater(g),
		swarm.WithResourceManager(t.rcmgr), swarm.WithDialTimeout(dialTimeout))
	if err != nil {
		return err
	}
	undo = append([]io.Closer{t.swarm}, undo...) // first of all
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	var security []sec.SecureTransport
	if t.cfg.security != "noise" {
		s, err := libp2ptls.New(libp2ptls.ID, secret, muxers)
		if err != nil {
			return err
		}
		security = append(security, s)
	}
	s, err := noise.New(noise.ID, secret, muxers)
	if err != nil {
		return err
	}
	if t.cfg.handshake == 0 {
		t.cfg.handshake = handshakeTimeout
	}
	up, err := upgrader.New(append(security, s), muxers, nil, t.rcmgr, g,
		upgrader.WithAcceptTimeout(t.cfg.handshake))
	if err != nil {
		return err
	}
	tr, err := tcp.NewTCPTransport(up, t.rcmgr, nil, tcp.DisableReuseport())
	if err != nil {
		return err
	}
	if err = t.swarm.AddTransport(tr); err != nil {
		return err
	}
	t.swarm.SetStreamHandler(t.accept)
	t.swarm.Notify(&network.NotifyBundle{ConnectedF: t.connected})
	at, err := addresses(context.Background(), t.cfg.Listen)
	if err != nil {
		return err
	}
	if err = t.swarm.Listen(at...); err != nil {
		return fmt.Errorf("listening on %s: %w", t.cfg.Listen, err)
	}
	if t.cfg.MDNS {
		t.local, err = t.announce()
	}
	return err
}

// Send implements node.Transport.
func (t *Transport) Send(ctx context.Context, to agent.ID, frame []byte) error {
	if int(to) >= len(t.peers) || to == t.self {
		return fmt.Errorf("%w: agent %d, allowed: 0 to %d but %d", node.ErrUnreachable, to, len(t.peers)-1,
			t.self)
	}
	code, err := t.send(ctx, t.peers[to], frame)
	if err == nil {
		return node.FromCode(code)
	}
	if c := ctx.Err(); c != nil {
		err = errors.Join(c, err)
	}
	return fmt.Errorf("%w: agent %d: %w", node.ErrUnreachable, to, err)
}

func (t *Transport) send(ctx context.Context, id peer.ID, frame []byte) (code byte, err error) {
	if err := t.connect(ctx, id); err != nil {
		return 0, err
	}
	idle := &t.idle[t.numbers[id]]
	s := idle.swap(nil)
	if s != nil && s.Conn().IsClosed() {
		s.Reset()
		s = nil
	}
	if s == nil {
		if s, err = t.swarm.NewStream(network.WithNoDial(ctx, "connected above"), id); err != nil {
			return 0, err
		}
		if err := s.SetProtocol(protocol); err != nil {
			s.Reset()
			return 0, err
		}
	}
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	deadline, _ := ctx.Deadline() // none is the zero time
	s.SetDeadline(deadline)
	_, werr := s.Write(frame)
	size, err := node.FrameSize(frame, t.cfg.MaxPayload)
	whole := werr == nil && err == nil && size == len(frame)
	if !whole && werr == nil { // the receiver cannot tell where it ends
		werr = s.CloseWrite()
	}
	var answer [1]byte
	// an answer may come although the write was cut short
	if _, err := io.ReadFull(s, answer[:]); err != nil {
		stop()
		s.Reset()
		s.Conn().Close() // the next attempt finds out whether the peer is there
		return 0, errors.Join(werr, err)
	}
	if !stop() || !whole {
		s.Close()
	} else if other := idle.swap(s); other != nil { // another send has opened one as well
		other.Close()
	}
	return answer[0], nil
}

// connected notes that a member has connected, or was connected to.
func (t *Transport) connected(_ network.Network, c network.Conn) {
	if i, ok := t.numbers[c.RemotePeer()]; ok {
		select {
		case t.idle[i].came <- struct{}{}:
		default:
		}
	}
}

// await waits for a member of a lower number to connect, for a short time. What came
// holds may be of a connection that has ended.
func (t *Transport) await(ctx context.Context, id peer.ID) bool {
	timer := time.NewTimer(courtesy)
	defer timer.Stop()
	for t.numbers[id] < t.self && t.swarm.Connectedness(id) != network.Connected {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-t.idle[t.numbers[id]].came:
		}
	}
	return t.swarm.Connectedness(id) == network.Connected
}

// connect dials the member's address unless there is a connection.
func (t *Transport) connect(ctx context.Context, id peer.ID) error {
	if t.swarm.Connectedness(id) == network.Connected || t.await(ctx, id) {
		return nil
	}
	at, err := addresses(ctx, t.cfg.address(t.numbers[id]))
	if err == nil {
		err = t.dial(ctx, id, at)
	}
	if err == nil || t.local == nil {
		return err
	}
	if at = t.local.find(ctx, t.numbers[id]); len(at) == 0 {
		return err
	}
	return t.dial(ctx, id, at)
}

// dial connects to a member at one of some addresses: the handshake shows whether it is
// there.
func (t *Transport) dial(ctx context.Context, id peer.ID, at []ma.Multiaddr) error {
	t.store.ClearAddrs(id)
	t.store.AddAddrs(id, at, peerstore.PermanentAddrTTL)
	t.swarm.Backoff().Clear(id) // the node paces attempts
	_, err := t.swarm.DialPeer(network.WithDialPeerTimeout(ctx, dialTimeout), id)
	return err
}

// Close implements node.Transport.
func (t *Transport) Close() error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
	if closed {
		return nil
	}
	return errors.Join(t.local.close(), t.swarm.Close(), t.rcmgr.Close(), t.store.Close())
}
