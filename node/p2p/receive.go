package p2p

import (
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"sotto/agent"
	"sotto/node"
)

// readTimeout bounds how long a peer may take to deliver a frame that it has begun.
const readTimeout = 5 * time.Minute

// incoming orders one sender's frames and holds the memory that they are read into.
type incoming struct {
	mu  sync.Mutex
	buf []byte
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
	r := &reader{stream: s}
	for r.wait() == nil {
		if !t.take(r, from) {
			return
		}
	}
	s.Reset()
}

// take reads and answers one frame. false: it has ended the stream.
func (t *Transport) take(r *reader, from agent.ID) bool {
	s, in := r.stream, &t.incoming[from]
	s.SetDeadline(time.Now().Add(readTimeout))
	in.mu.Lock()
	defer in.mu.Unlock()
	b, err := node.ReadFrame(r, t.cfg.MaxPayload, in.buf)
	in.buf = b[:0]
	handler := t.enter()
	if handler == nil {
		s.Reset()
		return false
	}
	_, werr := s.Write([]byte{node.Code(handler(from, b))})
	t.running.Done()
	if err == nil && werr == nil {
		return true
	}
	s.CloseWrite()
	if err != nil { // a sender that is still writing learns the answer before its stream ends
		io.Copy(io.Discard, io.LimitReader(s, int64(t.cfg.MaxPayload)+1<<16))
	}
	s.Close()
	return false
}

// reader reads a stream on which the next frame may be long in coming.
type reader struct {
	stream network.Stream
	first  [1]byte
	ahead  bool // first is still to be read
}

// wait waits for the first byte of a frame, without a deadline.
func (r *reader) wait() error {
	r.stream.SetDeadline(time.Time{})
	_, err := io.ReadFull(r.stream, r.first[:])
	r.ahead = err == nil
	return err
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	if r.ahead && len(b) > 0 {
		b[0], r.ahead = r.first[0], false
		return 1, nil
	}
	return r.stream.Read(b)
}
