// Package folder carries frames between the members of a roster as files in a folder that
// all of them see: one that is synchronized, a share of a batch cluster, or a disk that
// is carried across an air gap. Nobody needs a port, or to be there at the same time.
//
// Every file is encrypted to its receiver (age, with X25519 keys that follow from the
// members' Ed25519 keys) and signed by its sender. Whoever sees the folder sees who sends
// to whom, when, and how much; whoever can write to it can lose and delay files, no more.
//
// Below the folder of the membership, member i writes to the folder i alone, so that no
// two members write one file:
//
//	i/session              signed: the number of i's present session
//	i/j/SEQ-FROM-TO.frame  a frame to j, from i's session FROM for j's session TO
//	i/j/SEQ-FROM-TO.taken  i's answer to such a frame of j's, where FROM is j's
//
// Files appear under their names when they are whole. Other names, such as those of a
// synchronizer's conflicts, are not looked at. A sender removes a frame that was
// answered, a receiver an answer whose frame is gone.
//
// A frame is handed over once, and one for another session of its receiver's never is.
// FROM is of one start of i's node. A session that others write for begins with a start,
// or when a member has come from more starts than are remembered: what was written before
// is then passed over, and senders write it again.
package folder

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"sotto/agent"
	"sotto/config"
	"sotto/node"
)

const (
	// maxLetters is how many frames to one member lie in the folder at most.
	maxLetters = 8
	// maxEntries is how many files of another member's folder are looked at.
	maxEntries = 4096
	// renewing is the least time between two sessions of one process.
	renewing = time.Minute
	// leastPoll and mostPoll are how long a transport waits before it looks again: the
	// longer nothing has come, the longer.
	leastPoll, mostPoll = 5 * time.Millisecond, time.Second
)

// Member is one entry of the roster.
type Member struct {
	Name string // for the log; "": its number alone
	Key  ed25519.PublicKey
}

// Config is what a transport needs.
type Config struct {
	Key        ed25519.PrivateKey // of the member that this transport is
	Members    []Member           // by agent number
	Dir        string             // the common folder, which must exist
	MaxPayload int
	Log        *slog.Logger // nil: none
}

// Transport is a node.Transport over files.
type Transport struct {
	log  *slog.Logger
	self agent.ID
	sealer
	disk
	session session // of this start: what it sends is from it
	peers   []peer  // by agent
	ctx     context.Context
	cancel  context.CancelFunc
	serving
	door door
}

// door is the session that others write frames for.
type door struct {
	mu      sync.Mutex
	present session
	renewed time.Time // when one of this process gave way to another; zero: none has
}

// serving is what takes frames in.
type serving struct {
	mu      sync.Mutex
	handler node.Handler
	closed  bool
	running sync.WaitGroup
	// Sends in progress, which end before files are removed
	sending sync.WaitGroup
}

// peer is what a transport keeps for one member.
type peer struct {
	name string
	outbox
	inbox
	mu     sync.Mutex
	faults int
}

var _ node.Transport = (*Transport)(nil)

// New opens a transport. Others can send to it once Serve was called.
func New(cfg Config) (*Transport, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	t := &Transport{
		log:    cfg.Log,
		self:   agent.Broadcast,
		sealer: sealer{key: cfg.Key, members: cfg.Members, maxPayload: cfg.MaxPayload},
		disk:   disk{log: cfg.Log},
		peers:  make([]peer, len(cfg.Members)),
	}
	if len(cfg.Key) != ed25519.PrivateKeySize {
		return nil, config.Bad("key", len(cfg.Key), "an Ed25519 private key of 64 bytes")
	}
	h := sha256.New()
	h.Write([]byte("sotto folder members\n"))
	for i, m := range cfg.Members {
		p := &t.peers[i]
		p.name = fmt.Sprintf("agent %d", i)
		if m.Name != "" {
			p.name = fmt.Sprintf("%s (agent %d)", m.Name, i)
		}
		key, err := ssh.NewPublicKey(m.Key)
		var to age.Recipient
		if err == nil {
			to, err = agessh.NewEd25519Recipient(key)
		}
		if err != nil {
			return nil, config.Bad(fmt.Sprintf("members[%d].key", i), len(m.Key),
				"an Ed25519 public key of 32 bytes")
		}
		t.recipients = append(t.recipients, to)
		h.Write(m.Key)
		if m.Key.Equal(cfg.Key.Public()) {
			t.self = agent.ID(i)
		}
	}
	if t.self == agent.Broadcast {
		return nil, config.Bad("key", "a key that is not on the roster", "the key of a member")
	}
	h.Sum(t.digest[:0])
	rand.Read(t.session[:]) // never fails
	t.door.present = t.session
	var err error
	if t.identity, err = agessh.NewEd25519Identity(cfg.Key); err != nil {
		return nil, err
	}
	return t, t.open(cfg.Dir)
}

// open makes this member's folder, and removes what an earlier start has left in it.
func (t *Transport) open(in string) error {
	dir, err := os.OpenRoot(in)
	if err != nil {
		return &config.Error{Key: "folder", Found: err.Error(), Allowed: "a folder that is there"}
	}
	defer dir.Close()
	name := "sotto-" + hex.EncodeToString(t.digest[:8])
	if err := dir.MkdirAll(name, 0o755); err != nil {
		return err
	}
	if t.root, err = dir.OpenRoot(name); err != nil {
		return err
	}
	err = t.root.RemoveAll(folder(t.self))
	for j := range t.peers {
		if err == nil && agent.ID(j) != t.self {
			err = t.root.MkdirAll(way(t.self, agent.ID(j)), 0o755)
		}
	}
	if err != nil {
		return errors.Join(err, t.root.Close())
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return nil
}

// Serve implements node.Transport.
func (t *Transport) Serve(h node.Handler) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.handler = h
	if err := t.announce(t.session); err != nil {
		t.log.Error("this node cannot be found in the folder", "error", err)
	}
	t.touch()
	for i := range t.peers {
		if agent.ID(i) != t.self {
			t.running.Go(func() { t.receive(agent.ID(i)) })
		}
	}
}

// Close implements node.Transport. What others have sent stays in their folders; this
// member's own files go.
func (t *Transport) Close() error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
	t.sending.Wait()
	if closed {
		return nil
	}
	return errors.Join(t.root.RemoveAll(folder(t.self)), t.root.Close())
}

// pause waits until it is time to look again. false: ctx or the transport has ended.
func (t *Transport) pause(ctx context.Context) bool {
	quiet := time.Duration(time.Now().UnixNano()-t.active.Load()) / 10
	if quiet < 0 { // the clock was set back
		quiet = mostPoll
	}
	timer := time.NewTimer(min(max(quiet, leastPoll), mostPoll))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// complain logs what is wrong with a member's files: the first time, the second, fourth
// and so on.
func (t *Transport) complain(i agent.ID, file string, err error) {
	p := &t.peers[i]
	p.mu.Lock()
	p.faults++
	count := p.faults
	p.mu.Unlock()
	if count&(count-1) == 0 {
		t.log.Warn("a file was refused", "peer", p.name, "file", file, "error", err, "so far", count)
	}
}

// announce writes this member's session file: a number and a signature.
func (t *Transport) announce(s session) error {
	return t.write(folder(t.self)+"/session", append(s[:], ed25519.Sign(t.key, t.announced(t.self, s))...))
}

// reads reports whether frames for a session are taken.
func (t *Transport) reads(s session) bool {
	t.door.mu.Lock()
	defer t.door.mu.Unlock()
	return s == t.door.present
}

// renewable reports whether the session may give way to another: no member's starts make
// the others write their frames again and again.
func (t *Transport) renewable() bool {
	t.door.mu.Lock()
	defer t.door.mu.Unlock()
	return t.door.renewed.IsZero() || time.Since(t.door.renewed) >= renewing
}

// renew begins another session. What was written for the present one is never taken
// again, so that whoever calls it may forget what it has taken of that.
func (t *Transport) renew() error {
	t.door.mu.Lock()
	defer t.door.mu.Unlock()
	var s session
	rand.Read(s[:]) // never fails
	if err := t.announce(s); err != nil {
		return err
	}
	t.door.present, t.door.renewed = s, time.Now()
	return nil
}

// sessionOf reads the session file of a member. An error that wraps fs.ErrNotExist says
// that its node is not there.
func (t *Transport) sessionOf(i agent.ID) (s session, err error) {
	b, err := t.read(folder(i)+"/session", len(s)+ed25519.SignatureSize)
	if err != nil {
		return s, err
	}
	if len(b) != len(s)+ed25519.SignatureSize {
		return s, errForged
	}
	copy(s[:], b)
	if !ed25519.Verify(t.members[i].Key, t.announced(i, s), b[len(s):]) {
		return s, errForged
	}
	return s, nil
}
