package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// inbox is what a transport knows of the frames of a member. It belongs to the goroutine
// that receives from that member.
type inbox struct {
	seen    map[session]*window // since this transport's session began, by the sender's start
	refused map[string]stamp
	present map[label]bool // files that were there when last looked
}

const (
	// windowSize is how far behind the newest frame another may come.
	windowSize = 1 << 10
	// maxSessions is how many starts of a member's node are remembered. When there are
	// more, a new session of the receiver's begins.
	maxSessions = 64
	// rereading is how long a file that cannot be read is left alone.
	rereading = time.Second
)

// window are the numbers of the frames of a session that were handed over, with what was
// answered.
type window struct {
	newest  uint64
	answers map[uint64][]byte
}

// stamp tells a file that was refused from one that has changed since.
type stamp struct {
	size  int64
	time  time.Time
	until time.Time // refused until then, for it could not be read; zero: as long as it is the same
}

// of reports whether the file is the one that was refused.
func (s *stamp) of(info fs.FileInfo) bool { return s.size == info.Size() && s.time == info.ModTime() }

// receive hands over the frames of a member, one after the other, until the transport is
// closed.
func (t *Transport) receive(from agent.ID) {
	in := &t.peers[from].inbox
	in.seen, in.refused, in.present = map[session]*window{}, map[string]stamp{}, map[label]bool{}
	for {
		frames := t.list(from, t.self)
		present := map[label]bool{}
		for _, l := range frames {
			if l.taken || !t.reads(l.to) { // answers are looked up; of an earlier session
				continue
			}
			present[l] = true
			if t.ctx.Err() != nil {
				return
			}
			t.look(in, l)
		}
		for _, l := range t.list(t.self, from) { // answers that were read
			if l.taken && !present[frameLabel(l.sender, l.receiver, l.number, l.from, l.to)] {
				t.remove(path(l))
			}
		}
		in.present = present
		if len(in.refused) > maxEntries {
			clear(in.refused)
		}
		if !t.pause(t.ctx) {
			return
		}
	}
}

// full reports whether a start of the sender's is one more than are remembered.
func (in *inbox) full(s session) bool { return in.seen[s] == nil && len(in.seen) >= maxSessions }

// errAgain says that a file has come again.
var errAgain = errors.New("a frame that was taken before has come again")

// look hands over a frame that was not handed over before, and answers.
func (t *Transport) look(in *inbox, l label) {
	at := path(l)
	if w := in.seen[l.from]; w != nil {
		if answer, done := w.answers[l.number]; done {
			if !in.present[l] {
				t.complain(l.sender, at, errAgain)
			}
			t.answer(l, answer)
			return
		}
		if l.number+windowSize <= w.newest {
			t.refuse(in, l, at, fmt.Errorf("frame %d, while %d has come", l.number, w.newest))
			return
		}
	}
	full := in.full(l.from)
	if full && !t.renewable() || !t.changed(in, at) {
		return
	}
	file, err := t.read(at, t.maxFile())
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var body []byte
	if err == nil {
		body, err = t.unseal(l, file, t.maxBody())
	}
	if err != nil {
		t.refuse(in, l, at, err)
		return
	}
	if full {
		t.forget(in, l.sender)
		return
	}
	// as from a network: what is no frame is handed over as far as it can be read
	body, _ = frame.Read(bytes.NewReader(body), t.maxPayload, file[:0])
	t.mu.Lock()
	handler := t.handler
	if t.closed {
		handler = nil
	}
	t.mu.Unlock()
	if handler == nil {
		return
	}
	t.touch()
	w := in.seen[l.from]
	if w == nil {
		w = &window{answers: map[uint64][]byte{}}
		in.seen[l.from] = w
	}
	answer := node.Answer(handler(l.sender, body))
	w.answers[l.number] = answer
	if w.newest = max(w.newest, l.number); len(w.answers) > 2*windowSize {
		for number := range w.answers {
			if number+windowSize <= w.newest {
				delete(w.answers, number)
			}
		}
	}
	t.answer(l, answer)
}

// forget begins another session, in which nothing of a member's has been taken.
func (t *Transport) forget(in *inbox, from agent.ID) {
	if err := t.renew(); err != nil {
		t.complain(from, folder(t.self)+"/session", err)
		return
	}
	t.log.Info("a new session in the folder", "peer", t.peers[from].name, "starts", len(in.seen))
	clear(in.seen)
}

// changed reports whether a file is another than the one that was refused, or may be read
// by now.
func (t *Transport) changed(in *inbox, path string) bool {
	info, err := t.root.Lstat(path)
	if err != nil {
		return false
	}
	was, refused := in.refused[path]
	return !refused || !was.of(info) || !was.until.IsZero() && time.Now().After(was.until)
}

// refuse names a file, once for each form that it has. One that the system does not let
// be read is tried again: a synchronizer may set its mode last, a share may fail for a
// moment.
func (t *Transport) refuse(in *inbox, l label, path string, err error) {
	if info, e := t.root.Lstat(path); e == nil {
		was, refused := in.refused[path]
		now := stamp{size: info.Size(), time: info.ModTime()}
		if unread := new(fs.PathError); errors.As(err, &unread) {
			now.until = time.Now().Add(rereading)
		}
		in.refused[path] = now
		if refused && was.of(info) && was.until.IsZero() == now.until.IsZero() {
			return
		}
	}
	t.complain(l.sender, path, err)
}

// answer writes what came of a frame, unless that lies in the folder.
func (t *Transport) answer(l label, b []byte) {
	a := l.answer()
	at := path(a)
	if _, err := t.root.Lstat(at); err == nil {
		return
	}
	file, err := t.seal(a, b)
	if err == nil {
		err = t.write(at, file)
	}
	if err != nil {
		t.log.Warn("an answer cannot be written", "peer", t.peers[l.sender].name, "error", err)
	}
}
