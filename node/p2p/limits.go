package p2p

import (
	"fmt"
	"log/slog"
	"math"
	"sync"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/x/rate"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/config"
	"sotto/internal/descriptors"
)

// room is how many connections a transport may have.
type room struct {
	waiting int // whose other end has shown no key yet
	in, out int // with members, by who has connected
	streams int // with one member, in each direction
}

// streamsOfMember is for those of its lanes, and as many that just came.
const streamsOfMember = 2 * lanesOfMember * streamsOfLane

// planRoom divides the file descriptors that connections may take. It refuses a limit
// under which a node could not keep its ledger, its checkpoint and a few connections open
// at the same time: a node that runs out of them later would have to stop.
func planRoom(members, limit, inUse int, known bool) (room, error) {
	r := room{
		waiting: 4*members + 64,
		in:      4*members + 32,
		out:     2*members + 32,
		streams: streamsOfMember,
	}
	if !known {
		return r, nil
	}
	free := limit - inUse - descriptors.Reserve
	if need := 16 + min(members, 64); free < need {
		return room{}, config.Bad("limit of open files", limit, fmt.Sprintf(
			"at least %d for %d members (ulimit -n, LimitNOFILE= of systemd)",
			inUse+descriptors.Reserve+need, members))
	}
	r.waiting = min(r.waiting, free/4)
	r.out = min(r.out, free/4)
	r.in = min(r.in, free-r.waiting-r.out)
	return r, nil
}

// limits bounds what peers can make this process hold. A member has few connections and
// streams, and yamux windows of at most 16 MiB each; whoever has not shown a member's key
// yet has next to nothing, and waits in the hall, which bounds how many there are. Those
// that the hall has cut still count here until their handshake has noticed, which is why
// its number stands twice. Connections that come in never take the place of those that go
// out. Sources are not limited here: all members may be behind one gateway.
func limits(members int, r room) (network.ResourceManager, error) {
	const window = 16 << 20
	n, waiting := rcmgr.LimitVal(members), rcmgr.LimitVal(2*r.waiting)
	in, out, each := rcmgr.LimitVal(r.in), rcmgr.LimitVal(r.out), rcmgr.LimitVal(r.streams)
	c := rcmgr.PartialLimitConfig{
		System: rcmgr.ResourceLimits{
			Conns:           in + waiting + out,
			ConnsInbound:    in + waiting,
			ConnsOutbound:   out,
			FD:              in + waiting + out,
			Streams:         2 * each * (n + 1),
			StreamsInbound:  each * (n + 1),
			StreamsOutbound: each * (n + 1),
			Memory:          rcmgr.LimitVal64(members+1) * 2 * window,
		},
		Transient: rcmgr.ResourceLimits{
			Conns:           waiting + out,
			ConnsInbound:    waiting,
			ConnsOutbound:   out,
			FD:              waiting + out,
			Streams:         4*n + 32,
			StreamsInbound:  4*n + 32,
			StreamsOutbound: 4*n + 32,
			Memory:          2 * window,
		},
		// four times what a member keeps: those too many are cut when they have come
		PeerDefault: rcmgr.ResourceLimits{
			Conns:           4 * lanesOfMember,
			ConnsInbound:    3 * lanesOfMember,
			ConnsOutbound:   lanesOfMember,
			FD:              4 * lanesOfMember,
			Streams:         2 * each,
			StreamsInbound:  each,
			StreamsOutbound: each,
			Memory:          2*window + 1<<20 + max(0, rcmgr.LimitVal64(r.streams)-streamsOfMember)<<19,
		},
	}
	anywhere := rcmgr.WithLimitPerSubnet(
		[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: math.MaxInt32}},
		[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: math.MaxInt32}})
	return rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(c.Build(rcmgr.InfiniteLimits)), anywhere,
		rcmgr.WithConnRateLimiters(new(rate.Limiter)), rcmgr.WithMetricsDisabled())
}

// gater lets in members of the roster and nobody else.
type gater struct {
	*people
	hall    *hall
	log     *slog.Logger
	mu      sync.Mutex
	refused int
}

// InterceptPeerDial implements connmgr.ConnectionGater.
func (g *gater) InterceptPeerDial(id peer.ID) bool {
	_, member := g.numbers[id]
	_, relay := g.relays[id]
	return member || relay
}

// InterceptAddrDial implements connmgr.ConnectionGater.
func (g *gater) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept implements connmgr.ConnectionGater: who it is shows in the handshake.
func (g *gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured implements connmgr.ConnectionGater: the handshake has proved the key.
// A relay is somebody to connect to, never somebody who connects.
func (g *gater) InterceptSecured(dir network.Direction, id peer.ID, at network.ConnMultiaddrs) bool {
	_, member := g.numbers[id]
	if _, relay := g.relays[id]; relay && dir == network.DirOutbound {
		return true
	}
	if member {
		if in, ok := at.(*guest); ok {
			g.hall.leave(in)
			g.hall.know(in.from)
		}
		return true
	}
	g.mu.Lock()
	g.refused++
	count := g.refused
	g.mu.Unlock()
	if isPowerOfTwo(count) {
		g.log.Warn("a stranger was refused", "key", g.key(id), "from", g.place(at.RemoteMultiaddr().String()),
			"so far", count)
	}
	return false
}

// InterceptUpgraded implements connmgr.ConnectionGater.
func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
