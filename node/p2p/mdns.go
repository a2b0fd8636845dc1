package p2p

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/mdns"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/agent"
)

const (
	mdnsService = "_sotto._tcp"
	mdnsWait    = time.Second      // for answers
	mdnsKeep    = 10 * time.Second // that answers are used
)

// local finds members in the local network by multicast DNS (RFC 6762). What anybody
// answers there is no more than an address to try: who is there shows in the handshake.
// Names say nothing to those who do not have the roster.
type local struct {
	server  *mdns.Server
	numbers map[string]agent.ID // by instance name

	mu    sync.Mutex
	asked time.Time
	found map[agent.ID][]ma.Multiaddr
}

// instances are the members' names in the local network: hashes over all members' keys
// and each one's own.
func instances(members []Member) []string {
	h := sha256.New()
	for _, m := range members {
		h.Write(m.Key)
	}
	all := h.Sum(nil)
	names := make([]string, len(members))
	for i, m := range members {
		sum := sha256.Sum256(fmt.Appendf(nil, "sotto mdns\n%s%s", all, m.Key))
		names[i] = hex.EncodeToString(sum[:16])
	}
	return names
}

// zone is what this member announces: its name, and the addresses that it listens on.
func zone(name string, at []ma.Multiaddr) (*mdns.MDNSService, error) {
	var ips []net.IP
	port := 0
	for _, a := range at {
		n, err := manet.ToNetAddr(a)
		if err != nil {
			continue
		}
		if tcp, ok := n.(*net.TCPAddr); ok && !tcp.IP.IsLinkLocalUnicast() {
			ips, port = append(ips, tcp.IP), tcp.Port
		}
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("p2p: multicast DNS: no address to announce")
	}
	return mdns.NewMDNSService(name, mdnsService, "", name+".local.", port, ips, []string{"v=1"})
}

// silence keeps what strangers send out of the log.
var silence = log.New(io.Discard, "", 0)

// announce answers queries for this member, and returns what finds the others.
func (t *Transport) announce() (*local, error) {
	names := instances(t.cfg.Members)
	at, err := t.swarm.InterfaceListenAddresses()
	if err != nil {
		return nil, err
	}
	z, err := zone(names[t.self], at)
	if err != nil {
		return nil, err
	}
	l := &local{numbers: map[string]agent.ID{}}
	for i, name := range names {
		if agent.ID(i) != t.self {
			l.numbers[name] = agent.ID(i)
		}
	}
	if l.server, err = mdns.NewServer(&mdns.Config{Zone: z, Logger: silence}); err != nil {
		return nil, fmt.Errorf("p2p: multicast DNS: %w", err)
	}
	return l, nil
}

func (l *local) close() error {
	if l == nil {
		return nil
	}
	return l.server.Shutdown()
}

// find returns where a member says it is; nil if it does not. Nobody is asked more often
// than every mdnsKeep.
func (l *local) find(ctx context.Context, i agent.ID) []ma.Multiaddr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) > mdnsKeep {
		l.found = l.ask(ctx)
		l.asked = time.Now()
	}
	return l.found[i]
}

// ask collects the answers of members.
func (l *local) ask(ctx context.Context) map[agent.ID][]ma.Multiaddr {
	entries := make(chan *mdns.ServiceEntry, 4*len(l.numbers)+16) // what does not fit is dropped
	err := mdns.QueryContext(ctx, &mdns.QueryParam{
		Service:             mdnsService,
		Timeout:             mdnsWait,
		Entries:             entries,
		WantUnicastResponse: true,
		Logger:              silence,
	})
	close(entries)
	found := map[agent.ID][]ma.Multiaddr{}
	if err != nil {
		return found
	}
	for e := range entries {
		if i, at, ok := l.entry(e); ok && len(found[i]) < 8 {
			found[i] = append(found[i], at...)
		}
	}
	return found
}

// entry reads one answer; false: it is not of a member.
func (l *local) entry(e *mdns.ServiceEntry) (agent.ID, []ma.Multiaddr, bool) {
	name, ours := strings.CutSuffix(e.Name, "."+mdnsService+".local.")
	i, member := l.numbers[name]
	if !ours || !member || e.Port < 1 || e.Port > 65535 {
		return 0, nil, false
	}
	ips := []net.IP{e.AddrV4}
	if e.AddrV6IPAddr != nil {
		ips = append(ips, e.AddrV6IPAddr.IP)
	}
	var at []ma.Multiaddr
	for _, ip := range ips {
		if len(ip) == 0 || ip.IsMulticast() || ip.IsUnspecified() {
			continue
		}
		if m, err := manet.FromNetAddr(&net.TCPAddr{IP: ip, Port: e.Port}); err == nil {
			at = append(at, m)
		}
	}
	return i, at, len(at) > 0
}
