package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// outbox are the frames to a member that lie in the folder.
type outbox struct {
	sending sync.Mutex
	last    uint64    // number
	letters []*letter // oldest first
}

// letter is a frame in the folder.
type letter struct {
	label
	sum     [sha256.Size]byte // of the frame without its time
	waiting bool              // a Send waits for its answer
}

// Send implements node.Transport. A frame whose Send has ended without an answer stays in
// the folder; sent again, if only with another time, it is the same file. So an answer
// may take longer than one Send.
func (t *Transport) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if int(to) >= len(t.peers) || to == t.self {
		return fmt.Errorf("%w: agent %d, allowed: 0 to %d but %d", node.ErrUnreachable, to, len(t.peers)-1,
			t.self)
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return fmt.Errorf("%w: %s: the transport is closed", node.ErrUnreachable, t.peers[to].name)
	}
	t.sending.Add(1)
	t.mu.Unlock()
	defer t.sending.Done()
	answer, err := t.send(ctx, to, raw)
	if err == nil {
		return node.FromAnswer(answer)
	}
	if c := ctx.Err(); c != nil {
		err = errors.Join(c, err)
	}
	return fmt.Errorf("%w: %s: %w", node.ErrUnreachable, t.peers[to].name, err)
}

// errNotThere says that a member's node has not come to the folder, or has left it.
var errNotThere = errors.New("its node is not there: it has no session file in the folder")

func (t *Transport) send(ctx context.Context, to agent.ID, raw []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// what is no frame goes as far as a receiver would read it
	body, _ := frame.Read(bytes.NewReader(raw), t.maxPayload, nil)
	var l *letter
	defer func() { t.peers[to].abandon(l) }()
	for {
		s, err := t.sessionOf(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, errNotThere
		case err != nil:
			t.complain(to, folder(to)+"/session", err)
			return nil, err
		}
		if l == nil {
			if l, err = t.post(to, s, body, nil); err != nil {
				return nil, err
			}
		}
		if answer, err := t.answered(l); err == nil {
			t.close(to, l)
			return answer, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.complain(to, path(l.label.answer()), err)
		}
		if l.to != s { // and nobody reads it any more
			if l, err = t.post(to, s, body, l); err != nil {
				return nil, err
			}
		}
		if !t.pause(ctx) {
			return nil, errors.New("no answer in the folder yet")
		}
	}
}

// post puts a frame into the folder, unless it lies there, for a session of its
// receiver's. It takes the place of old, if that is not nil.
func (t *Transport) post(to agent.ID, s session, body []byte, old *letter) (*letter, error) {
	o := &t.peers[to].outbox
	o.sending.Lock()
	defer o.sending.Unlock()
	l := &letter{sum: sha256.Sum256(frame.Unstamped(body)), waiting: true}
	for _, other := range o.letters {
		if !other.waiting && other.sum == l.sum && other.to == s {
			other.waiting = true
			t.drop(o, old)
			return other, nil
		}
	}
	t.drop(o, old)
	for _, other := range slices.Clone(o.letters) {
		if !other.waiting && (len(o.letters) >= maxLetters || other.to != s) {
			t.drop(o, other)
		}
	}
	if len(o.letters) >= maxLetters {
		return nil, fmt.Errorf("%d frames wait in the folder, allowed: %d", len(o.letters), maxLetters)
	}
	o.last++
	l.label = frameLabel(t.self, to, o.last, t.session, s)
	file, err := t.seal(l.label, body)
	if err == nil {
		err = t.write(path(l.label), file)
	}
	if err != nil {
		return nil, err
	}
	o.letters = append(o.letters, l)
	return l, nil
}

// drop takes a letter out of the folder. o.sending is held.
func (t *Transport) drop(o *outbox, l *letter) {
	if l == nil {
		return
	}
	o.letters = slices.DeleteFunc(o.letters, func(other *letter) bool { return other == l })
	t.remove(path(l.label))
}

// abandon says that nobody waits for a letter's answer for now.
func (o *outbox) abandon(l *letter) {
	if l == nil {
		return
	}
	o.sending.Lock()
	l.waiting = false
	o.sending.Unlock()
}

// close removes a frame that was answered.
func (t *Transport) close(to agent.ID, l *letter) {
	o := &t.peers[to].outbox
	o.sending.Lock()
	defer o.sending.Unlock()
	t.drop(o, l)
}

// answered reads the answer to a frame.
func (t *Transport) answered(l *letter) ([]byte, error) {
	a := l.label.answer()
	file, err := t.read(path(a), 1<<12)
	if err != nil {
		return nil, err
	}
	b, err := t.unseal(a, file, node.MaxAnswer)
	if err == nil && (len(b) == 0 || len(b) != node.AnswerSize(b[0])) {
		err = errForged
	}
	return b, err
}
