package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// Stream numbers events, and hands them to whoever follows. A nil *Stream takes events
// and drops them.
type Stream struct {
	scope Scope

	mu      sync.Mutex
	seq     uint64
	now     func() time.Time
	follow  []follower
	file    io.WriteCloser
	failed  error // the file's first
	gaps    error // of files before, and what could not be told again
	waiting []byte
}

// follower is who hears events; past: also those that its file had before.
type follower struct {
	hear func(*Event)
	past bool
}

// NewStream is a stream that takes events of the given scope and public ones.
func NewStream(scope Scope) *Stream { return &Stream{scope: scope, now: time.Now} }

// Follow calls f with every event from now on, one call at a time. It must not block.
func (s *Stream) Follow(f func(*Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow = append(s.follow, follower{f, false})
}

// FollowAll is Follow, and f also hears what the file of the stream had before, where
// Keep goes on with one.
func (s *Stream) FollowAll(f func(*Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow = append(s.follow, follower{f, true})
}

// Emit says something. It panics where the stream's scope does not take it, which is a
// mistake of the program. A file that cannot be written ends with its first error, see
// Close: what is said must not end what runs.
func (s *Stream) Emit(b Body) {
	if s == nil {
		return
	}
	if !slices.Contains(admits[s.scope], b.Scope()) {
		panic(fmt.Sprintf("event: a stream of scope %s was told a %s, which is of scope %s", s.scope,
			b.Kind(), b.Scope()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	e := &Event{Version: Version, Seq: s.seq, Time: s.now().UTC().Truncate(time.Millisecond),
		Kind: b.Kind(), Scope: b.Scope(), Body: b}
	if line, err := e.Encode(); err != nil {
		s.failed = errors.Join(s.failed, err)
	} else if s.file != nil && s.failed == nil {
		_, s.failed = s.file.Write(append(line, '\n'))
	} else if s.file == nil {
		s.waiting = append(append(s.waiting, line...), '\n')
	}
	for _, f := range s.follow {
		f.hear(e)
	}
}

// Keep appends the stream to a file, what was said before included. A file that another
// process has left goes on with the number after its last; a line that was cut is cut
// off.
func (s *Stream) Keep(path string, mode fs.FileMode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, closed := s.file.(discard)
	if s.file != nil && !closed {
		return errors.New("event: the stream has a file")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return err
	}
	last, size, err := tail(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err == nil && last > 0 && len(s.waiting) > 0 {
		s.waiting, err = renumber(s.waiting, last)
	}
	if err == nil {
		if closed { // what was said since went to followers alone
			s.seq = 0
		}
		s.seq += last
		_, err = f.Write(s.waiting)
	}
	if err != nil {
		f.Close()
		return err
	}
	s.file, s.waiting = f, nil
	s.gaps, s.failed = errors.Join(s.gaps, s.failed), nil
	if !closed {
		s.gaps = errors.Join(s.gaps, s.retell(path, size))
	}
	return nil
}

// retell has followers hear what the file had before, up to a line that is none, which
// its error names: what was said must not end what runs.
func (s *Stream) retell(path string, size int64) error {
	if size == 0 || !slices.ContainsFunc(s.follow, func(f follower) bool { return f.past }) {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	all, _, err := DecodeAll(b[:min(size, int64(len(b)))])
	for _, e := range all {
		for _, f := range s.follow {
			if f.past {
				f.hear(e)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// renumber adds to the numbers of lines.
func renumber(lines []byte, by uint64) ([]byte, error) {
	all, _, err := DecodeAll(lines)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, e := range all {
		e.Seq += by
		line, err := e.Encode()
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// tail finds the number of the last whole event of a file, and where it ends. What is no
// stream is begun anew.
func tail(f *os.File) (last uint64, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	from := max(0, info.Size()-2*MaxLine)
	b := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(b, from); err != nil && err != io.EOF {
		return 0, 0, err
	}
	for end := bytes.LastIndexByte(b, '\n'); end >= 0; {
		start := bytes.LastIndexByte(b[:end], '\n') + 1
		if e, err := Decode(b[start:end]); err == nil {
			return e.Seq, from + int64(end) + 1, nil
		}
		end = start - 1
	}
	return 0, 0, nil
}

// Close ends the file; what is said later reaches followers alone. It returns the first
// error of writing a file, and of telling again what one had.
func (s *Stream) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errors.Join(s.gaps, s.failed)
	}
	err := errors.Join(s.gaps, s.failed, s.file.Close())
	s.file = discard{}
	return err
}

// discard is the file of a stream that was closed.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// Owned is what a node has in place of a stream: it can be told what is public, and
// nothing else compiles. A nil *Owned takes events and drops them.
type Owned struct{ s *Stream }

// NewOwned is a stream of public events.
func NewOwned() *Owned { return &Owned{NewStream(Public)} }

// Emit says something that depends on no record but by what was released and charged.
func (o *Owned) Emit(b Releasable) {
	if o != nil {
		o.s.Emit(b)
	}
}

// Stream is the stream itself, of scope public, to keep, follow and close it.
func (o *Owned) Stream() *Stream {
	if o == nil {
		return nil
	}
	return o.s
}
