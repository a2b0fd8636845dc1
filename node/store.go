package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"sotto/agent"
	"sotto/privacy/ledger"
)

// ErrState says that a node's stored state cannot be used: damaged, or of another run or
// member.
var ErrState = errors.New("node: stored state does not fit")

const (
	stateTemp  = "checkpoint.tmp"
	stateLock  = "lock"
	checkTag   = "sotto node/4"
	wholeTag   = "sotto node/3" // is read as well: the outbox is written whole
	oldTag     = "sotto node/2"
	maxState   = 1 << 34
	hashLength = sha256.Size
)

// stateFiles take turns. The one with the higher serial number counts.
var stateFiles = [2]string{"checkpoint", "checkpoint.2"}

// Checkpoint is all that a node must find again after a crash. Every part is public:
// post-processing of charged releases. Keys and stream positions are not in it, so that
// no noise can be made twice.
type Checkpoint struct {
	Run   [32]byte
	Self  agent.ID
	Round uint64 // rounds, or own wakes, that are complete
	// of the owner's ledger, after the last charge: ledger.Options.KnownSeq and KnownHead
	Head ledger.Head
	Ends
	Counts Counts
	State  []byte // of the algorithm
	Underway
	// what this node says about its ledger; nothing before it has finished
	Attestation []byte

	placement
}

// Ends is what has come to its end.
type Ends struct {
	Exhausted bool // the budget is spent
	Done      bool // the algorithm needs no further steps
	Finished  bool // the run, for this node
}

// Underway is what neighbors may still lack, or this node of theirs.
type Underway struct {
	// messages of the round for which it sent before Outbox, which is Round-1 unless
	// chance draws links; nil: that was skipped, or there is none. In pairs: what it says
	// to all before its first meeting
	Before []byte
	Outbox []byte // messages of round Sent
	Sent   uint64 // Round, or by a clock the last wake that has sent anything
	// by a clock: the newest message of every neighbor that the last wake took in; in
	// pairs: the last reply to each
	Heard []byte
	Undo  []byte // in a meeting that Outbox is the offer of: the algorithm's state before it
}

// placement is what decides where a checkpoint is written, and what of it.
type placement struct {
	serial uint64 // one more with every checkpoint
	// barrier: whoever hears this node had all of Before's messages before it completed
	// round Round. Before need not outlive that, and is left out where the other file has
	// it.
	barrier bool
	shared  bool // Before is the other file's Outbox
}

// Counts are what happened at this node so far.
type Counts struct {
	Missing   uint64 `json:"missing"`    // frames that a round went on without
	OneSided  uint64 `json:"one_sided"`  // of these, the peer had taken this node's frame of the round
	Skipped   uint64 `json:"skipped"`    // rounds that were left out because the neighbors had moved on
	Exhausted uint64 `json:"exhausted"`  // queries that the budget refused, or that were not asked any more
	Stale     uint64 `json:"stale"`      // frames of rounds that had passed
	Replayed  uint64 `json:"replayed"`   // frames that had come before
	Refused   uint64 `json:"refused"`    // frames that were no frames, or that this node does not take
	Busy      uint64 `json:"busy"`       // meetings that this node or a neighbor had no time for
	Bytes     uint64 `json:"bytes_sent"` // taken by peers, with headers
}

func (c *Counts) fields() []*uint64 {
	return []*uint64{&c.Missing, &c.OneSided, &c.Skipped, &c.Exhausted, &c.Stale, &c.Replayed, &c.Refused,
		&c.Busy, &c.Bytes}
}

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// encode appends tag, fixed part, blocks, the outbox without what the state holds as
// well, and the SHA-256 of all that.
func (c *Checkpoint) encode(b []byte) []byte {
	at := len(b)
	b = agent.AppendTag(b, checkTag)
	b = u64(append(b, c.Run[:]...), c.serial, uint64(c.Self), c.Round, c.Head.Seq)
	before := c.Before
	if c.shared {
		before = nil
	}
	b = u64(append(b, c.Head.Hash[:]...), flag(c.Exhausted), flag(c.Done), flag(c.Finished),
		flag(before != nil), flag(c.shared), c.Sent)
	for _, v := range c.Counts.fields() {
		b = u64(b, *v)
	}
	for _, block := range [][]byte{c.State, before, c.Attestation, c.Heard, c.Undo} {
		b = append(u64(b, uint64(len(block))), block...)
	}
	b = appendPieces(b, c.Outbox, c.State)
	sum := sha256.Sum256(b[at:])
	return append(b, sum[:]...)
}

// decode reads what encode writes, or wrote before; blocks stay parts of b.
func (c *Checkpoint) decode(b []byte) error {
	if len(b) < hashLength {
		return fmt.Errorf("%w: %d bytes", ErrState, len(b))
	}
	body := b[:len(b)-hashLength]
	if sha256.Sum256(body) != [hashLength]byte(b[len(body):]) {
		return fmt.Errorf("%w: the checksum does not fit", ErrState)
	}
	tag := checkTag
	if bytes.HasPrefix(body, agent.AppendTag(nil, wholeTag)) {
		tag = wholeTag
	}
	s := agent.ReadState(body, tag)
	read32 := func() (h [32]byte) {
		for i := 0; i < 32; i += 8 {
			binary.LittleEndian.PutUint64(h[i:], s.Uint64())
		}
		return h
	}
	c.Run = read32()
	c.serial, c.Self, c.Round, c.Head.Seq = s.Uint64(), agent.ID(s.Uint64()), s.Uint64(), s.Uint64()
	c.Head.Hash = read32()
	c.Exhausted, c.Done, c.Finished = s.Uint64() == 1, s.Uint64() == 1, s.Uint64() == 1
	before, shared := s.Uint64() == 1, s.Uint64() == 1
	c.shared = shared
	c.Sent = s.Uint64()
	for _, v := range c.Counts.fields() {
		*v = s.Uint64()
	}
	if c.State, c.Before = s.Block(), s.Block(); tag == wholeTag {
		c.Outbox = s.Block()
	}
	c.Attestation, c.Heard, c.Undo = s.Block(), s.Block(), s.Block()
	if tag == checkTag {
		var err error
		if c.Outbox, err = readPieces(s, c.State); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	if !before {
		c.Before = nil
	}
	return nil
}

// Store keeps a node's checkpoint in a directory. Two files take turns: a checkpoint is
// written over the one before the last, with one sync and no change of names, and the
// last one stands until the new one is whole. Where the newer file is damaged the older
// one is loaded, as after a crash in the middle of a write. An outbox is written once: at
// the next round it is in the other file. Of a vector that is sent and kept one copy is
// written.
type Store struct {
	dir    string
	fs     ledger.FS
	lock   io.Closer
	buf    []byte
	loaded bool
	serial uint64  // of the last checkpoint; 0: there is none
	outbox []byte  // of it
	there  [2]bool // the file exists, and has held a whole checkpoint
}

// OpenStore opens dir, makes it if it is not there, and locks it: ledger.ErrLocked says
// that another process runs from it. ledger.ErrDurability refuses file systems that do
// not keep what was synced. A nil fsys is the operating system's.
func OpenStore(dir string, fsys ledger.FS) (*Store, error) {
	if fsys == nil {
		fsys = ledger.OS{}
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, err
	}
	if err := fsys.Check(dir); err != nil {
		return nil, err
	}
	lock, err := fsys.Lock(filepath.Join(dir, stateLock))
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, fs: fsys, lock: lock}, nil
}

// slot is the name of the file that holds the checkpoint with a serial number.
func (s *Store) slot(serial uint64) string { return filepath.Join(s.dir, stateFiles[serial%2]) }

// Load returns the stored checkpoint, or nil if none was ever stored.
func (s *Store) Load() (*Checkpoint, error) {
	var (
		last, before *Checkpoint
		bad          error
	)
	s.serial, s.there = 0, [2]bool{}
	for k := range s.there {
		c, err := s.read(s.slot(uint64(k)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, ErrState):
			bad = err
		case err != nil:
			return nil, err
		case last == nil || c.serial > last.serial:
			last, before = c, last
		default:
			before = c
		}
		s.there[k] = true
	}
	if last == nil && bad != nil {
		return nil, bad
	}
	s.loaded = true
	if last == nil {
		return nil, nil
	}
	if last.shared && before != nil && before.serial+1 == last.serial {
		last.Before = before.Outbox
	}
	s.serial, s.outbox = last.serial, last.Outbox
	return last, nil
}

// read reads one of the files.
func (s *Store) read(name string) (*Checkpoint, error) {
	r, err := s.fs.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxState))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, agent.AppendTag(nil, oldTag)) {
		return nil, fmt.Errorf("%w: %s is of %s, allowed: %s: finish the run with the version that began it",
			ErrState, name, oldTag, checkTag)
	}
	c := new(Checkpoint)
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
		return nil, fmt.Errorf("%s: %w: %d bytes, it says that it has more", name, ErrState, len(b))
	}
	if err := c.decode(b[8 : 8+binary.LittleEndian.Uint64(b)]); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Save stores c. When it returns nil, c is what the next Load returns, whatever crashes;
// after an error it is c or the one before.
func (s *Store) Save(c *Checkpoint) error {
	if !s.loaded {
		if _, err := s.Load(); err != nil {
			return err
		}
	}
	c.serial = s.serial + 1
	c.shared = c.barrier && len(c.Before) > 0 && len(s.outbox) > 0 && &c.Before[0] == &s.outbox[0]
	s.buf = c.encode(append(s.buf[:0], make([]byte, 8)...))
	binary.LittleEndian.PutUint64(s.buf, uint64(len(s.buf)-8))
	name := s.slot(c.serial)
	if there := &s.there[c.serial%2]; *there {
		if err := s.write(s.fs.Rewrite(name)); err != nil {
			return err
		}
	} else {
		if err := s.create(name); err != nil {
			return err
		}
		*there = true
	}
	s.serial, s.outbox = c.serial, c.Outbox
	return nil
}

// write writes and syncs s.buf.
func (s *Store) write(w ledger.Appender, err error) error {
	if err != nil {
		return err
	}
	_, err = w.Write(s.buf)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// create makes a file that is whole as soon as it has its name.
func (s *Store) create(name string) error {
	temp := filepath.Join(s.dir, stateTemp)
	if err := s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.write(s.fs.Create(temp)); err != nil {
		return err
	}
	if err := s.fs.Rename(temp, name); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// Close gives up the directory.
func (s *Store) Close() error { return s.lock.Close() }
