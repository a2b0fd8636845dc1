// Package p2p carries frames between the members of a roster over libp2p: TCP with TLS
// 1.3, or Noise where a peer offers nothing else, and yamux. It is the one package that
// imports libp2p.
//
// The swarm is put together by hand: no hole punching, no identify protocol, no QUIC.
// Addresses are those of the roster or, where an owner asks for it, what members say in
// the local network by multicast DNS. Connections may go through an HTTP proxy, and by
// relays that the owner names; a relay sees ciphertext. A connection of anybody who is
// not on the roster ends when the handshake has shown the key. Frames go over streams
// that stay open, one after the other: a frame one way, one byte of answer the other,
// which a mark may follow.
package p2p

import (
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

	"sotto/agent"
	"sotto/config"
	"sotto/node"
	"sotto/node/frame"
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

// NoListen in place of a listening address says that nobody can connect to this member:
// it connects to the others, directly or by relays.
const NoListen = "none"

// Member is one entry of the roster.
type Member struct {
	Name    string // for errors and the log; "": its number alone
	Key     ed25519.PublicKey
	Address string // host:port; a host below .invalid says that nobody can connect to it
	// Others are keys that it has had before in the run, or gets later, as far as they
	// are known: a node that has not come as far, or has gone further, has one of them.
	Others []ed25519.PublicKey
}

// Config is what a transport needs.
type Config struct {
	Key     ed25519.PrivateKey // of the member that this transport is
	Members []Member           // by agent number
	Listen  string             // host:port, or NoListen; "": the member's own address of the roster
	Reach
	MaxPayload int
	Log        *slog.Logger // nil: none

	hooks
}

// Reach is how members are found and connected to besides their roster's addresses.
type Reach struct {
	// MDNS announces this member in the local network by multicast DNS, and asks there
	// for members who are not at their roster's address.
	MDNS   bool
	Proxy  *Proxy       // nil: connections are made directly
	Relays []RelayPoint // in the order in which they are tried
}

// hooks are for tests.
type hooks struct {
	security  string                // "noise" alone, or "" for both
	handshake time.Duration         // in place of handshakeTimeout
	courtesy  time.Duration         // in place of courtesy; 0: that
	address   func(agent.ID) string // where members listen, in place of their addresses
	files     int                   // the limit of open files, in place of the process's
}

// Transport is a node.Transport over libp2p.
type Transport struct {
	cfg  Config
	self agent.ID
	log  *slog.Logger
	*people
	*host
	ways
	peers [][]peer.ID // by agent: of its key, and of its others
	with  []member    // by agent

	mu sync.Mutex
	serving
}

// ways are those to members besides their addresses.
type ways struct {
	local    *local    // nil: no multicast DNS
	circuits *circuits // nil: no relays
}

// fault is something wrong with a member's frames or connections that the log counts.
type fault struct {
	of   agent.ID
	what string
}

// serving is what takes frames in.
type serving struct {
	handler node.Handler
	closed  bool
	running sync.WaitGroup
	faults  map[fault]int
}

var _ node.Transport = (*Transport)(nil)

// New opens a transport: it listens when it returns, and answers once Serve was called.
func New(cfg Config) (*Transport, error) {
	t := &Transport{
		cfg:     cfg,
		log:     cfg.Log,
		people:  newPeople(cfg.Members),
		with:    make([]member, len(cfg.Members)),
		serving: serving{faults: map[fault]int{}},
	}
	if t.log == nil {
		t.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if err := t.enroll(); err != nil {
		return nil, err
	}
	for i := range t.with {
		m := &t.with[i]
		m.came, m.dialing = make(chan struct{}, 1), make(chan struct{}, 1)
		m.of = map[network.Conn]*lane{}
		m.budget, m.freed.L = 2*(cfg.MaxPayload+frame.HeaderSize)+1<<20, &m.mu
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
	return t, t.start(id, secret)
}

// enroll learns the keys of members and relays.
func (t *Transport) enroll() error {
	var err error
	if t.peers, err = t.number(t.cfg.Members); err != nil {
		return err
	}
	for i, r := range t.cfg.Relays {
		id, err := peerOf(r.Key, fmt.Sprintf("relays[%d].key", i))
		if err != nil {
			return err
		}
		if _, ok := t.numbers[id]; ok {
			return config.Bad(fmt.Sprintf("relays[%d].key", i), t.key(id), "a key that no member has")
		}
		t.relays[id] = r.Address
	}
	return nil
}

// peerOf is libp2p's name of a public key.
func peerOf(key ed25519.PublicKey, place string) (peer.ID, error) {
	k, err := crypto.UnmarshalEd25519PublicKey(key)
	if err != nil {
		return "", config.Bad(place, len(key), "an Ed25519 public key of 32 bytes")
	}
	return peer.IDFromPublicKey(k)
}

// start opens the host and listens.
func (t *Transport) start(id peer.ID, secret crypto.PrivKey) (err error) {
	t.host, err = openHost(hostConfig{
		id:        id,
		secret:    secret,
		people:    t.people,
		proxy:     t.cfg.Proxy,
		security:  t.cfg.security,
		handshake: t.cfg.handshake,
		files:     t.cfg.files,
		log:       t.log,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.circuits.close(), t.local.close(), t.host.close())
		}
	}()
	t.swarm.SetStreamHandler(t.accept)
	t.swarm.Notify(&network.NotifyBundle{ConnectedF: t.connected})
	if len(t.cfg.Relays) > 0 {
		if t.circuits, err = t.openCircuits(); err != nil {
			return err
		}
	}
	if t.cfg.Listen == NoListen {
		return nil
	}
	if err = t.listen(t.cfg.Listen); err != nil {
		return err
	}
	if t.cfg.MDNS {
		t.local, err = t.announce()
	}
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
	return errors.Join(t.local.close(), t.circuits.close(), t.host.close())
}
