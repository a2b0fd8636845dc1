package p2p

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/agent"
	"sotto/config"
	"sotto/node/roster"
)

// RelayPoint is where a relay is, and its key.
type RelayPoint struct {
	Address string // host:port
	Key     ed25519.PublicKey
}

// ParseRelay reads host:port/key, as sotto relay prints it, or a libp2p multiaddress such
// as /ip4/192.0.2.1/tcp/4001/p2p/12D3KooW...
func ParseRelay(s string) (RelayPoint, error) {
	bad := config.Bad("relay", s, "host:port/key, as sotto relay prints it, or /ip4/.../tcp/.../p2p/...")
	if strings.HasPrefix(s, "/") {
		return relayOfMultiaddr(s, bad)
	}
	at, key, ok := strings.Cut(s, "/")
	if _, _, err := net.SplitHostPort(at); err != nil || !ok {
		return RelayPoint{}, bad
	}
	k, err := roster.ParsePeerID(key)
	if err != nil {
		return RelayPoint{}, bad
	}
	return RelayPoint{at, k}, nil
}

func relayOfMultiaddr(s string, bad error) (RelayPoint, error) {
	a, err := ma.NewMultiaddr(s)
	if err != nil {
		return RelayPoint{}, bad
	}
	info, err := peer.AddrInfoFromP2pAddr(a)
	if err != nil || len(info.Addrs) != 1 {
		return RelayPoint{}, bad
	}
	parts := strings.Split(info.Addrs[0].String(), "/")
	key, err := info.ID.ExtractPublicKey()
	if err != nil || len(parts) != 5 || parts[3] != "tcp" {
		return RelayPoint{}, bad
	}
	raw, err := key.Raw()
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return RelayPoint{}, bad
	}
	return RelayPoint{net.JoinHostPort(parts[2], parts[4]), raw}, nil
}

// String is what ParseRelay reads.
func (p RelayPoint) String() string { return p.Address + "/" + roster.PeerID(p.Key) }

// circuits are connections by relays (libp2p's circuit relay, version 2): to others, and
// of others to this member, for whom each relay keeps a place.
type circuits struct {
	host   *blankhost.BlankHost
	client *client.Client
	relays []peer.ID // in the order in which they are tried
	cancel func()
	loops  sync.WaitGroup
	kept   atomic.Int32 // relays that keep a place now
}

const (
	// reserveAgain is how long a place is used before it is asked for again.
	reserveAgain = 20 * time.Minute
	// relayPause is the time between two attempts to get a place; it grows to
	// relayPauseMax.
	relayPause    = 500 * time.Millisecond
	relayPauseMax = 10 * time.Second
	// relayLook is how often it is looked whether a relay is still there.
	relayLook = time.Second
)

// openCircuits adds the relays to the swarm.
func (t *Transport) openCircuits() (*circuits, error) {
	h := blankhost.NewBlankHost(t.swarm, blankhost.WithEventBus(t.bus))
	if h == nil {
		return nil, fmt.Errorf("p2p: no host for relays")
	}
	c := &circuits{host: h}
	for _, r := range t.cfg.Relays {
		id, _ := peerOf(r.Key, "") // read before
		c.relays = append(c.relays, id)
	}
	t.swarm.SetStreamHandler(func(s network.Stream) { // frames are not negotiated, circuits are
		if _, ok := t.relays[s.Conn().RemotePeer()]; !ok {
			t.accept(s)
			return
		}
		id, handle, err := h.Mux().Negotiate(s)
		if err != nil {
			s.Reset()
			return
		}
		handle(id, s)
	})
	var err error
	if c.client, err = client.New(h, t.upgrader); err != nil {
		return nil, err
	}
	if err = t.swarm.AddTransport(c.client); err == nil {
		err = t.swarm.Listen(ma.StringCast("/p2p-circuit"))
	}
	if err != nil {
		c.client.Close()
		return nil, err
	}
	c.client.Start()
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	for i, id := range c.relays {
		c.loops.Go(func() { t.reserve(ctx, c, id, t.cfg.Relays[i].Address) })
	}
	return c, nil
}

// reserve keeps a place at a relay until ctx ends.
func (t *Transport) reserve(ctx context.Context, c *circuits, id peer.ID, address string) {
	pause, failed, have := relayPause, 0, false
	for ctx.Err() == nil {
		at, err := t.addresses(ctx, address)
		if err == nil {
			t.store.AddAddrs(id, at, peerstore.PermanentAddrTTL)
			t.swarm.Backoff().Clear(id)
			trying, cancel := context.WithTimeout(ctx, dialTimeout)
			_, err = client.Reserve(trying, c.host, peer.AddrInfo{ID: id})
			cancel()
		}
		if err != nil {
			if have {
				have = false
				c.kept.Add(-1)
			}
			if failed++; isPowerOfTwo(failed) && ctx.Err() == nil {
				t.log.Warn("no place at a relay", "relay", address, "error", t.plain(err), "so far", failed)
			}
			sleep(ctx, pause)
			pause = min(2*pause, relayPauseMax)
			continue
		}
		if !have {
			c.kept.Add(1)
			t.log.Info("a place at a relay", "relay", address)
		}
		pause, failed, have = relayPause, 0, true
		until := time.Now().Add(reserveAgain)
		for ctx.Err() == nil && time.Now().Before(until) && t.swarm.Connectedness(id) == network.Connected {
			sleep(ctx, relayLook)
		}
	}
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// relayed are the ways to a member by relays.
func (t *Transport) relayed(ctx context.Context, _ agent.ID) ([]ma.Multiaddr, error) {
	if t.circuits == nil {
		return nil, nil
	}
	var all []ma.Multiaddr
	var failed error
	for i, id := range t.circuits.relays {
		at, err := t.addresses(ctx, t.cfg.Relays[i].Address)
		if err != nil {
			failed = err
			continue
		}
		for _, a := range at {
			all = append(all, a.Encapsulate(ma.StringCast("/p2p/"+id.String()+"/p2p-circuit")))
		}
	}
	if len(all) == 0 {
		return nil, failed
	}
	return all, nil
}

func (c *circuits) close() error {
	if c == nil {
		return nil
	}
	if c.cancel != nil {
		c.cancel()
	}
	c.loops.Wait()
	return c.client.Close()
}
