package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"sotto/agent"
	"sotto/privacy/ledger"
)

const (
	stateTemp = "checkpoint.tmp"
	stateLock = "lock"
)

// stateFiles take turns. The one with the higher serial number counts.
var stateFiles = [2]string{"checkpoint", "checkpoint.2"}

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
	closed bool
	buf    []byte
	loaded bool
	serial uint64  // of the last checkpoint; 0: there is none
	outbox []byte  // of it
	there  [2]bool // the file exists, and has held a whole checkpoint
}

// Open opens dir, makes it if it is not there, and locks it: ledger.ErrLocked says
// that another process runs from it. ledger.ErrDurability refuses file systems that do
// not keep what was synced. A nil fsys is the operating system's.
func Open(dir string, fsys ledger.FS) (*Store, error) {
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

// Load returns the stored checkpoint, or nil if none was ever stored. ErrState: none is
// whole, or one of them is of a newer format, which a later version of sotto has written.
func (s *Store) Load() (*Checkpoint, error) {
	var (
		last, before *Checkpoint
		bad          error
	)
	if s.closed {
		return nil, errClosed
	}
	s.serial, s.there = 0, [2]bool{}
	for k := range s.there {
		c, err := s.read(s.slot(uint64(k)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, errNewer): // the other file is older, or as new
			return nil, err
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
		s.there[before.serial%2] = false // what neighbors may lack is in it: it is replaced as a whole
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
	return decodeFile(name, b)
}

// decodeFile reads the content of one of the files.
func decodeFile(name string, b []byte) (*Checkpoint, error) {
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
// after an error it is c or the one before. It keeps c.Outbox, which is not to be changed
// before the Save after the next.
func (s *Store) Save(c *Checkpoint) error {
	if s.closed {
		return errClosed
	}
	if !s.loaded {
		if _, err := s.Load(); err != nil {
			return err
		}
	}
	c.serial = s.serial + 1
	c.shared = c.Barrier && len(c.Before) > 0 && len(s.outbox) > 0 && &c.Before[0] == &s.outbox[0]
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

// Close gives up the directory, which another process may then run from: a closed store
// neither loads nor saves. To close it again does nothing.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.lock.Close()
}

var errClosed = fmt.Errorf("node: the store is closed: %w", fs.ErrClosed)
