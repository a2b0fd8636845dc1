package p2p

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	manet "github.com/multiformats/go-multiaddr/net"
)

// hall is where connections wait whose other end has not shown a key yet. It has room for
// a number of them. Where one more comes, one is cut: of the source that has most, one
// that has sent nothing before one that has, the oldest first. A source that a member has
// shown its key from, or that the roster names, counts for a quarter. So half-open
// connections do not keep a member out, from wherever they come.
type hall struct {
	log  *slog.Logger
	room int

	mu      sync.Mutex
	waiting map[netip.Prefix][]*guest // oldest first
	count   int
	known   map[netip.Prefix]bool
	hallCounts
}

// hallCounts are of what the log names at powers of two.
type hallCounts struct{ cut, failures int }

const (
	knownWeight = 4
	maxKnown    = 1 << 12 // sources
)

func newHall(room int, log *slog.Logger) *hall {
	return &hall{log: log, room: room, waiting: map[netip.Prefix][]*guest{}, known: map[netip.Prefix]bool{}}
}

// door is a listener whose connections wait in a hall.
type door struct {
	manet.Listener
	hall *hall
}

// Accept implements manet.Listener.
func (d door) Accept() (manet.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		d.hall.failed(err)
		return nil, err
	}
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok { // no address is left waiting
		l.SetLinger(0)
	}
	g := &guest{Conn: c, hall: d.hall, from: source(c)}
	d.hall.enter(g)
	return g, nil
}

// guest is a connection that has come in.
type guest struct {
	manet.Conn
	hall  *hall
	from  netip.Prefix
	spoke atomic.Bool
	left  bool // the hall; hall.mu guards it
}

// Read implements net.Conn.
func (g *guest) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if n > 0 && !g.spoke.Load() {
		g.spoke.Store(true)
	}
	return n, err
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.hall.leave(g)
	return g.Conn.Close()
}

// source is where a connection comes from: an IPv4 address, or 56 bits of an IPv6 one,
// which are one customer's.
func source(c manet.Conn) netip.Prefix {
	ip, err := manet.ToIP(c.RemoteMultiaddr())
	if err != nil {
		return netip.Prefix{}
	}
	return sourceOf(ip)
}

func sourceOf(ip []byte) netip.Prefix {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Prefix{}
	}
	bits := 56
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // the lengths are in range
	return p
}

// enter makes room for g.
func (h *hall) enter(g *guest) {
	h.mu.Lock()
	var out *guest
	if h.count >= h.room {
		out = h.choose()
	}
	if out != nil {
		h.remove(out)
		h.cut++
	}
	h.waiting[g.from] = append(h.waiting[g.from], g)
	h.count++
	cut, waiting := h.cut, h.count
	h.mu.Unlock()
	if out == nil {
		return
	}
	out.Conn.Close()
	if isPowerOfTwo(cut) {
		h.log.Warn("a connection was cut that had shown no key: too many wait", "from",
			out.RemoteAddr().String(), "waiting", waiting, "so far", cut)
	}
}

// choose returns who is cut. h.mu is held.
func (h *hall) choose() *guest {
	var most netip.Prefix
	heaviest := -1
	for from, all := range h.waiting {
		weight := len(all) * knownWeight
		if h.known[from] {
			weight = len(all)
		}
		// of equals a fixed one, so that the order of a map does not count
		if weight > heaviest || weight == heaviest && from.Addr().Less(most.Addr()) {
			most, heaviest = from, weight
		}
	}
	all := h.waiting[most]
	for _, g := range all {
		if !g.spoke.Load() {
			return g
		}
	}
	return all[0]
}

// leave says that g waits no longer: it has shown a member's key, or has ended.
func (h *hall) leave(g *guest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(g)
}

func (h *hall) remove(g *guest) {
	if g.left {
		return
	}
	g.left = true
	all := h.waiting[g.from]
	for i := range all {
		if all[i] == g {
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	h.count--
	if h.waiting[g.from] = all; len(all) == 0 {
		delete(h.waiting, g.from)
	}
}

// failed logs why no connection could be accepted.
func (h *hall) failed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	h.mu.Lock()
	h.failures++
	count := h.failures
	h.mu.Unlock()
	if isPowerOfTwo(count) {
		h.log.Warn("a connection could not be accepted", "error", err, "so far", count)
	}
}

// know notes that members come from a source.
func (h *hall) know(from netip.Prefix) {
	if !from.IsValid() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= maxKnown {
		clear(h.known)
	}
	h.known[from] = true
}

// isPowerOfTwo tells what is logged: the first, second, fourth and so on, so that nobody
// fills the log.
func isPowerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }
