package p2p

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	// lanesOfMember is how many connections a member keeps.
	lanesOfMember = 4
	// streamsOfLane is how many streams a member may have opened on one of them.
	streamsOfLane = 8
)

// member is what a transport keeps for one member of the roster. Whoever else has the
// member's key can connect too, so one connection must not be in another's way.
type member struct {
	came    chan struct{} // capacity 1: the member has connected
	dialing chan struct{} // capacity 1: holds one while some send looks for a way to the member
	turn    sync.Mutex    // of the handler, which gets one frame of a member at a time
	mu      sync.Mutex
	idle    network.Stream // to the member, waiting for the next frame; nil: there is none
	lanes
	memory
}

// lanes are the connections with a member.
type lanes struct {
	of    map[network.Conn]*lane
	clock uint64 // counts what came whole
}

// lane is a connection with a member.
type lane struct {
	conn network.Conn
	// proved is when a frame or an answer last came whole; 0: none has
	proved  uint64
	readers []*reader // oldest first
}

// swap puts s in and returns the stream that was idle.
func (m *member) swap(s network.Stream) network.Stream {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, m.idle = m.idle, s
	return s
}

// lane returns what is kept for a connection. m.mu is held.
func (m *member) lane(c network.Conn) *lane {
	l := m.of[c]
	if l == nil {
		l = &lane{conn: c}
		m.of[c] = l
		for other, x := range m.of { // what has ended is forgotten
			if other != c && other.IsClosed() && len(x.readers) == 0 {
				delete(m.of, other)
			}
		}
	}
	return l
}

// prove notes that something came whole by a connection.
func (m *member) prove(c network.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	m.lane(c).proved = m.clock
}

// better sorts connections: first those by which something came whole, the last time
// first, then direct ones, then those that this side has made, then the newest.
func (m *member) better(a, b network.Conn) int {
	x, y := m.lane(a), m.lane(b)
	switch {
	case x.proved != y.proved:
		return order(x.proved > y.proved)
	case circuit(a.RemoteMultiaddr()) != circuit(b.RemoteMultiaddr()):
		return order(circuit(b.RemoteMultiaddr()))
	case a.Stat().Direction != b.Stat().Direction:
		return order(a.Stat().Direction == network.DirOutbound)
	}
	return b.Stat().Opened.Compare(a.Stat().Opened)
}

// order is the sign of a comparison.
func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// best is the connection to send by; nil: there is none.
func (m *member) best(conns []network.Conn) network.Conn {
	conns = slices.DeleteFunc(slices.Clone(conns), network.Conn.IsClosed)
	if len(conns) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.MinFunc(conns, m.better)
}

// surplus are the connections that a member has too many: of those but the newest the
// ones by which nothing has come whole for longest.
func (m *member) surplus(conns []network.Conn) []network.Conn {
	conns = slices.DeleteFunc(slices.Clone(conns), network.Conn.IsClosed)
	if len(conns) <= lanesOfMember {
		return nil
	}
	slices.SortFunc(conns, func(a, b network.Conn) int { return b.Stat().Opened.Compare(a.Stat().Opened) })
	m.mu.Lock()
	defer m.mu.Unlock()
	old := conns[1:]
	slices.SortStableFunc(old, m.better)
	return old[lanesOfMember-1:]
}

// circuit tells whether an address leads through a relay.
func circuit(a ma.Multiaddr) bool {
	_, err := a.ValueForProtocol(ma.P_CIRCUIT)
	return err == nil
}

// memory is what frames of a member are read into. Every stream may hold firstBuffer
// bytes of a frame. Beyond that frames that are not whole yet, or wait for the handler,
// hold at most budget bytes. One buffer is used again.
type memory struct {
	budget int
	held   int
	spare  []byte
	freed  sync.Cond // its lock is member.mu
}

// firstBuffer is what a frame gets before more of it has come.
const firstBuffer = 64 << 10

// enter begins to read a stream. Of too many on one connection one is cut.
func (m *member) enter(s network.Stream) (r, cut *reader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(s.Conn())
	if len(l.readers) >= streamsOfLane {
		cut = slowest(l.readers, time.Now())
	}
	if cut != nil {
		m.release(cut)
	}
	r = &reader{stream: s, member: m, lane: l}
	l.readers = append(l.readers, r)
	return r, cut
}

// exit ends what enter began.
func (m *member) exit(r *reader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release(r)
}

// release takes a reader out of its lane, and its bytes out of the account. m.mu is held.
func (m *member) release(r *reader) {
	if r.cut {
		return
	}
	r.cut = true
	r.lane.readers = slices.DeleteFunc(r.lane.readers, func(o *reader) bool { return o == r })
	m.held, r.held = m.held-r.held, 0
	m.freed.Broadcast()
}

// slowest is the reader of a frame that is not whole to which least has come of late;
// nil: there is none.
func slowest(all []*reader, now time.Time) (least *reader) {
	for _, r := range all {
		if !r.whole && (least == nil || r.at(now) < least.at(now)) {
			least = r
		}
	}
	return least
}

// grow makes room for more of r's frame of size bytes: firstBuffer, and then the spare
// buffer or twice as much. If there is no room the slowest reader is cut, which may be r;
// where all others wait for the handler, r waits for them. It returns who was cut. ok is
// false when r was.
func (m *member) grow(r *reader, size int) (cut []*reader, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := min(size, max(firstBuffer, 2*cap(r.buf)))
	if to > firstBuffer && cap(m.spare) >= size {
		to = cap(m.spare)
	}
	more := max(0, to-firstBuffer) - r.held
	for !r.cut && m.held+more > m.budget {
		all := slices.DeleteFunc(m.readers(), func(o *reader) bool {
			return o != r && (o.whole || o.held == 0)
		})
		if len(all) == 1 && m.held > r.held { // what the handler is through with comes back
			m.freed.Wait()
			continue
		}
		victim := slowest(all, time.Now())
		m.release(victim)
		cut = append(cut, victim)
	}
	if r.cut {
		return cut, false
	}
	b := m.spare
	if to > firstBuffer && cap(b) == to {
		m.spare = nil
	} else {
		b = make([]byte, 0, to)
	}
	m.held, r.held = m.held+more, r.held+more
	r.buf = append(b[:0], r.buf...)
	return cut, true
}

// readers are those of all lanes, oldest first. m.mu is held.
func (m *member) readers() (all []*reader) {
	for _, l := range m.of {
		all = append(all, l.readers...)
	}
	slices.SortFunc(all, func(a, b *reader) int {
		return a.stream.Stat().Opened.Compare(b.stream.Stat().Opened)
	})
	return all
}

// back takes the buffer of a frame that the handler is through with.
func (m *member) back(r *reader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.whole = false
	m.held, r.held = m.held-r.held, 0
	if cap(r.buf) > cap(m.spare) {
		m.spare = r.buf[:0]
	}
	r.buf = nil
	m.freed.Broadcast()
}
