package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/config"
	"sotto/internal/descriptors"
)

// host is what libp2p gives, for members and relays.
type host struct {
	swarm    *swarm.Swarm
	rcmgr    network.ResourceManager
	store    peerstore.Peerstore
	bus      event.Bus
	upgrader transport.Upgrader
	hall     *hall
	proxy    *Proxy
}

// hostConfig is what a host needs.
type hostConfig struct {
	id        peer.ID
	secret    crypto.PrivKey
	people    *people
	proxy     *Proxy
	streams   int           // with one member, in each direction; 0: those of its lanes
	security  string        // "noise" alone, or "" for both
	handshake time.Duration // 0: handshakeTimeout
	files     int           // the limit of open files; 0: the process's
	log       *slog.Logger
}

// plainLog is where libp2p's own lines go: its errors, without places of the machine that
// the program was built on.
type plainLog struct{ log *slog.Logger }

func (p plainLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (p plainLog) WithAttrs([]slog.Attr) slog.Handler               { return p }
func (p plainLog) WithGroup(string) slog.Handler                    { return p }
func (p plainLog) Handle(_ context.Context, r slog.Record) error {
	p.log.Warn("libp2p", "message", r.Message)
	return nil
}

// firstLog is that of the process's first host: libp2p has one log for all.
var firstLog sync.Once

// openHost builds a swarm that does not listen yet.
func openHost(c hostConfig) (h *host, err error) {
	firstLog.Do(func() { gologshim.SetDefaultHandler(plainLog{c.log}) })
	limit, known := descriptors.Limit()
	if c.files > 0 {
		limit, known = c.files, true
	}
	members := len(c.people.numbers)
	r, err := planRoom(members, limit, descriptors.InUse(), known)
	if err != nil {
		return nil, err
	}
	r.streams = max(r.streams, c.streams)
	h = &host{bus: eventbus.NewBus(), hall: newHall(r.waiting, c.log), proxy: c.proxy}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.rcmgr, err = limits(members, r); err != nil {
		return nil, err
	}
	if h.store, err = pstoremem.NewPeerstore(); err != nil {
		return nil, err
	}
	if err = h.store.AddPrivKey(c.id, c.secret); err != nil {
		return nil, err
	}
	g := &gater{people: c.people, hall: h.hall, log: c.log}
	h.swarm, err = swarm.NewSwarm(c.id, h.store, h.bus, swarm.WithConnectionGater(g),
		swarm.WithResourceManager(h.rcmgr), swarm.WithDialTimeout(dialTimeout))
	if err != nil {
		return nil, err
	}
	return h, h.carry(c, g)
}

// carry adds the transport.
func (h *host) carry(c hostConfig, g *gater) error {
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: yamux.DefaultTransport}}
	var security []sec.SecureTransport
	if c.security != "noise" {
		s, err := libp2ptls.New(libp2ptls.ID, c.secret, muxers)
		if err != nil {
			return err
		}
		security = append(security, s)
	}
	s, err := noise.New(noise.ID, c.secret, muxers)
	if err != nil {
		return err
	}
	if c.handshake == 0 {
		c.handshake = handshakeTimeout
	}
	h.upgrader, err = upgrader.New(append(security, s), muxers, nil, h.rcmgr, g,
		upgrader.WithAcceptTimeout(c.handshake))
	if err != nil {
		return err
	}
	options := []tcp.Option{tcp.DisableReuseport()}
	if c.proxy != nil {
		options = append(options, tcp.WithDialerForAddr(c.proxy.dialer),
			tcp.WithConnectionTimeout(dialTimeout))
	}
	tr, err := tcp.NewTCPTransport(h.upgrader, h.rcmgr, nil, options...)
	if err != nil {
		return err
	}
	return h.swarm.AddTransport(&wire{tr, h})
}

// wire is libp2p's TCP transport, whose connections wait in the hall until they have
// shown a key, and which leaves it to a proxy to find names.
type wire struct {
	*tcp.TcpTransport
	host *host
}

// Listen implements transport.Transport.
func (w *wire) Listen(at ma.Multiaddr) (transport.Listener, error) {
	l, err := manet.Listen(at)
	if err != nil {
		return nil, err
	}
	up := w.host.upgrader
	return up.UpgradeGatedMaListener(w, up.GateMaListener(door{l, w.host.hall})), nil
}

// CanDial implements transport.Transport.
func (w *wire) CanDial(at ma.Multiaddr) bool {
	return w.TcpTransport.CanDial(at) || w.SkipResolve(context.Background(), at)
}

// SkipResolve implements transport.SkipResolver.
func (w *wire) SkipResolve(_ context.Context, at ma.Multiaddr) bool {
	_, err := at.ValueForProtocol(ma.P_DNS)
	return err == nil && w.host.proxy != nil && !circuit(at)
}

// listen listens on host:port.
func (h *host) listen(hostPort string) error {
	at, err := resolve(context.Background(), hostPort)
	if err != nil {
		return err
	}
	if err := h.swarm.Listen(at...); err != nil {
		return fmt.Errorf("listening on %s: %w", hostPort, err)
	}
	return nil
}

func (h *host) close() error {
	var all []io.Closer
	if h.swarm != nil {
		all = append(all, h.swarm)
	}
	if h.rcmgr != nil {
		all = append(all, h.rcmgr)
	}
	if h.store != nil {
		all = append(all, h.store)
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// nowhere tells whether an address of the roster says that nobody can connect.
func nowhere(hostPort string) bool {
	name, _, err := net.SplitHostPort(hostPort)
	return err == nil && strings.HasSuffix(strings.TrimSuffix(name, "."), ".invalid")
}

// addresses is where to connect to for host:port. A proxy gets names as they are.
func (h *host) addresses(ctx context.Context, hostPort string) ([]ma.Multiaddr, error) {
	name, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	if h.proxy == nil || net.ParseIP(name) != nil {
		return resolve(ctx, hostPort)
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	a, err := ma.NewMultiaddr(fmt.Sprintf("/dns/%s/tcp/%d", name, number))
	if err != nil {
		return nil, err
	}
	return []ma.Multiaddr{a}, nil
}

// CheckListen refuses what nobody can listen at: neither host:port nor, or "", NoListen.
// It does not look up the host.
func CheckListen(address string) error {
	if address == "" || address == NoListen {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if _, bad := net.LookupPort("tcp", port); err == nil && bad == nil && host != "" {
		return nil
	}
	return config.Bad("listen", address, "host:port with a port of 0 to 65535, or "+NoListen)
}

// resolve looks up host:port. Names are looked up whenever a connection is made, so that
// a peer may move behind one.
func resolve(ctx context.Context, hostPort string) ([]ma.Multiaddr, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	if number > math.MaxUint16 {
		return nil, fmt.Errorf("address %s: no such port", hostPort)
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
