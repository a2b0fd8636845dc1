package p2p

import (
	"errors"
	"io"
	"math"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

const (
	// LongestSend is how long a peer may take to deliver a frame that it has begun: a
	// sender that tries longer tries in vain.
	LongestSend = 5 * time.Minute
	// grace and leastRate bound it for smaller frames: so long, and a second for so many
	// bytes.
	grace     = 30 * time.Second
	leastRate = 4 << 10
	// slowAfter is when the log names a frame that is not whole yet.
	slowAfter = 5 * time.Second
)

// reader reads a stream that a member has opened.
type reader struct {
	stream network.Stream
	member *member
	lane   *lane
	head   [frame.HeaderSize]byte
	buf    []byte    // the frame, as far as it was read
	began  time.Time // with the frame
	// member.mu guards what follows
	held int // bytes of buf that count
	pace
	whole bool // the frame is, and waits for the handler or is with it
	cut   bool // no longer in its lane
}

// pace is how many bytes came of late.
type pace struct {
	recent float64
	last   time.Time
}

// at is the pace at a time: what came a second before counts half.
func (p *pace) at(now time.Time) float64 { return p.recent * math.Exp2(-now.Sub(p.last).Seconds()) }

// note counts bytes that came.
func (r *reader) note(n int) {
	now := time.Now()
	r.member.mu.Lock()
	r.pace = pace{r.at(now) + float64(n), now}
	r.member.mu.Unlock()
}

// Serve implements node.Transport.
func (t *Transport) Serve(h node.Handler) {
	t.mu.Lock()
	t.handler = h
	t.mu.Unlock()
}

// enter returns the handler and counts its call, or nil if none may run.
func (t *Transport) enter() node.Handler {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.handler == nil {
		return nil
	}
	t.running.Add(1)
	return t.handler
}

// accept reads frames from a stream that a member has opened, and answers each, until the
// member closes it.
func (t *Transport) accept(s network.Stream) {
	from, ok := t.numbers[s.Conn().RemotePeer()]
	if !ok || s.SetProtocol(protocol) != nil {
		s.Reset()
		return
	}
	m := &t.with[from]
	r, cut := m.enter(s)
	defer m.exit(r)
	if cut != nil {
		t.end(from, cut, "too many streams on one connection")
	}
	for r.wait() == nil {
		if !t.take(r, from) {
			return
		}
	}
	s.Reset()
}

// end ends the stream of a reader that was cut, and says so.
func (t *Transport) end(from agent.ID, r *reader, why string) {
	r.stream.Reset()
	t.complain(from, "a frame was cut", why)
}

// complain logs what is wrong with a member's frames: the first time, the second, fourth
// and so on.
func (t *Transport) complain(from agent.ID, what, why string) {
	t.mu.Lock()
	t.faults[fault{from, what}]++
	count := t.faults[fault{from, what}]
	t.mu.Unlock()
	if isPowerOfTwo(count) {
		t.log.Warn(what, "peer", t.member(from), "reason", why, "so far", count)
	}
}

// take reads and answers one frame. false: it has ended the stream.
func (t *Transport) take(r *reader, from agent.ID) bool {
	s, m := r.stream, r.member
	b, err := t.read(r, from)
	if errors.Is(err, errCut) {
		s.Reset()
		return false
	}
	m.turn.Lock()
	handler := t.enter()
	if handler == nil {
		m.turn.Unlock()
		s.Reset()
		return false
	}
	answer := node.Answer(handler(from, b))
	t.running.Done()
	m.turn.Unlock()
	m.back(r)
	if err == nil {
		m.prove(s.Conn())
	}
	s.SetWriteDeadline(time.Now().Add(grace))
	_, werr := s.Write(answer)
	if err == nil && werr == nil {
		return true
	}
	s.CloseWrite()
	if err != nil { // a sender that is still writing learns the answer before its stream ends
		s.SetReadDeadline(time.Now().Add(grace))
		io.Copy(io.Discard, io.LimitReader(s, int64(t.cfg.MaxPayload)+1<<16))
	}
	s.Close()
	return false
}

// errCut says that a frame was given up to make room for others.
var errCut = errors.New("p2p: cut")

// wait waits for the first byte of a frame, without a deadline.
func (r *reader) wait() error {
	r.stream.SetReadDeadline(time.Time{})
	_, err := io.ReadFull(r.stream, r.head[:1])
	return err
}

// read reads a frame whose first byte has come, into memory that grows with what comes.
// With an error come the bytes that were read.
func (t *Transport) read(r *reader, from agent.ID) ([]byte, error) {
	r.began = time.Now()
	r.stream.SetReadDeadline(r.began.Add(slowAfter))
	slow := false
	n, err := 1, error(nil)
	for n < len(r.head) && err == nil {
		n, err = t.more(r, from, r.head[:], n, &slow, 0)
	}
	if err != nil {
		return r.fits(r.head[:n], err)
	}
	size, err := frame.Size(r.head[:], t.cfg.MaxPayload)
	if err != nil {
		return r.head[:], err
	}
	cut, ok := r.member.grow(r, size)
	r.buf = append(r.buf, r.head[:]...)
	for n = len(r.head); n < size && ok && err == nil; {
		if n == cap(r.buf) {
			var more []*reader
			more, ok = r.member.grow(r, size)
			cut = append(cut, more...)
			continue
		}
		n, err = t.more(r, from, r.buf[:min(cap(r.buf), size)], n, &slow, size)
		r.buf = r.buf[:n]
	}
	for _, other := range cut {
		t.end(from, other, "too many bytes of frames that are not whole")
	}
	return r.fits(r.buf, err)
}

// fits marks a frame as whole, or as far as it will ever be, unless r was cut.
func (r *reader) fits(b []byte, err error) ([]byte, error) {
	r.member.mu.Lock()
	defer r.member.mu.Unlock()
	if r.cut {
		return nil, errCut
	}
	r.whole = true
	return b, err
}

// timedOut tells whether a deadline has passed. yamux has an error of its own for that.
func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// more reads into b from n on, and returns how far b is filled. A frame that is long in
// coming is named once, and then has as long as its size allows.
func (t *Transport) more(r *reader, from agent.ID, b []byte, n int, slow *bool, size int) (int, error) {
	k, err := r.stream.Read(b[n:])
	r.note(k)
	n += k
	switch {
	case n == len(b):
		return n, nil
	case timedOut(err) && !*slow:
		*slow = true
		long := min(LongestSend, grace+time.Duration(size)*time.Second/leastRate)
		r.stream.SetReadDeadline(r.began.Add(long))
		t.complain(from, "a frame is long in coming", "begun and not whole after "+slowAfter.String())
		return n, nil
	case timedOut(err):
		t.complain(from, "a frame was cut", "slower than 4 KiB a second")
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
