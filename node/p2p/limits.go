package p2p

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/agent"
)

// addresses resolves host:port. Names are looked up whenever a connection is made, so
// that a peer may move behind one.
func addresses(ctx context.Context, hostPort string) ([]ma.Multiaddr, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	ips := []net.IP{net.ParseIP(host)}
	if ips[0] == nil {
		if ips, err = net.DefaultResolver.LookupIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	var all []ma.Multiaddr
	for _, ip := range ips {
		m, err := manet.FromNetAddr(&net.TCPAddr{IP: ip, Port: number})
		if err != nil {
			return nil, fmt.Errorf("address %s: %w", hostPort, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// limits bounds what peers can make this process hold. A peer has few connections and
// streams, and yamux windows of at most 16 MiB each; whoever has not shown a member's key
// yet has next to nothing.
func limits(members int) (network.ResourceManager, error) {
	const window = 16 << 20
	n := rcmgr.LimitVal(members)
	c := rcmgr.PartialLimitConfig{
		System: rcmgr.ResourceLimits{
			Conns:           4*n + 32,
			ConnsInbound:    2*n + 32,
			ConnsOutbound:   2*n + 32,
			FD:              4*n + 64,
			Streams:         16*n + 64,
			StreamsInbound:  8*n + 32,
			StreamsOutbound: 8*n + 32,
			Memory:          rcmgr.LimitVal64(members+1) * 2 * window,
		},
		Transient: rcmgr.ResourceLimits{
			Conns:           n + 32,
			ConnsInbound:    n + 32,
			ConnsOutbound:   n + 32,
			FD:              n + 32,
			Streams:         4*n + 32,
			StreamsInbound:  4*n + 32,
			StreamsOutbound: 4*n + 32,
			Memory:          2 * window,
		},
		PeerDefault: rcmgr.ResourceLimits{Conns: 4, ConnsInbound: 4, ConnsOutbound: 4, FD: 4,
			Streams: 16, StreamsInbound: 8, StreamsOutbound: 8, Memory: 2*window + 1<<20},
	}
	return rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(c.Build(rcmgr.InfiniteLimits)),
		rcmgr.WithMetricsDisabled())
}

// gater lets in members of the roster and nobody else.
type gater struct {
	members map[peer.ID]agent.ID
	log     *slog.Logger
	mu      sync.Mutex
	refused int
}

// InterceptPeerDial implements connmgr.ConnectionGater.
func (g *gater) InterceptPeerDial(id peer.ID) bool {
	_, ok := g.members[id]
	return ok
}

// InterceptAddrDial implements connmgr.ConnectionGater.
func (g *gater) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept implements connmgr.ConnectionGater: who it is shows in the handshake.
func (g *gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured implements connmgr.ConnectionGater: the handshake has proved the key.
func (g *gater) InterceptSecured(_ network.Direction, id peer.ID, at network.ConnMultiaddrs) bool {
	if _, ok := g.members[id]; ok {
		return true
	}
	g.mu.Lock()
	g.refused++
	count := g.refused
	g.mu.Unlock()
	if count&(count-1) == 0 { // the first, second, fourth, ...: no stranger fills the log
		g.log.Warn("a stranger was refused", "key", id.String(), "from", at.RemoteMultiaddr().String(),
			"so far", count)
	}
	return false
}

// InterceptUpgraded implements connmgr.ConnectionGater.
func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
