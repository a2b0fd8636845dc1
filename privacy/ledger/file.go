package ledger

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"unicode/utf8"

	"sotto/config"
	"sotto/privacy/account"
)

// DefaultSegmentSize is the size in bytes at which a segment ends and the next one
// begins.
const DefaultSegmentSize = 8 << 20

// Options say who uses a ledger and what it must match. Only Key is needed to write, and
// nothing to read.
type Options struct {
	// Key is the owner's Ed25519 key; it signs the genesis, closes, statements and heads.
	// A ledger whose key was rotated is opened with the present one.
	Key ed25519.PrivateKey
	// PublicKey is the owner that Read, Verify, Export and History expect, by the present
	// key; nil takes the one that the ledger names.
	PublicKey ed25519.PublicKey
	// Fingerprint is that of the data set in use. Without it a ledger that has one admits
	// no charge.
	Fingerprint *Fingerprint
	// Filter admits charges. It is fed with all charges of the past first and must
	// enforce the genesis budget over them. nil is an account.RDPFilter of that budget.
	Filter account.Filter
	// Accountant, one of account.Names, finds the epsilon of closes and statements; "" is
	// account.Default. Where it does not support the charges, account.Default and rdp are
	// tried.
	Accountant string
	// Run and Agent are written into every record; public, at most 256 bytes of UTF-8.
	Run, Agent string
	// KnownSeq is the highest number that a checkpoint or a stored outbox names, 0
	// without any.
	KnownSeq uint64
	// KnownHead is a head that the ledger had once, for instance one that a peer holds.
	// The zero Head asks nothing.
	KnownHead Head
	// AcceptDelta lets Create accept a delta of 1/MinRecords or more, and records that as
	// an override.
	AcceptDelta bool
	// SegmentSize in bytes, 0 = DefaultSegmentSize. A segment exceeds it by less than one
	// record.
	SegmentSize int64
	// FS is the file system, nil = OS{}.
	FS FS
}

func (o *Options) fill() error {
	if o.FS == nil {
		o.FS = OS{}
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if o.SegmentSize < 0 {
		return config.Bad("segment_size", o.SegmentSize, "above 0")
	}
	if o.Accountant == "" {
		o.Accountant = account.Default
	} else if _, ok := account.Accountants[o.Accountant]; !ok {
		return config.Bad("accountant", o.Accountant, "the names of account.Names")
	}
	return errors.Join(checkName("run", o.Run), checkName("agent", o.Agent))
}

func checkName(key, s string) error {
	if len(s) > maxName || !utf8.ValidString(s) {
		return config.Bad(key, s, fmt.Sprintf("at most %d bytes of UTF-8", maxName))
	}
	return nil
}

func (o *Options) needKey() error {
	if len(o.Key) != ed25519.PrivateKeySize {
		return config.Bad("key", fmt.Sprintf("%d bytes", len(o.Key)),
			fmt.Sprintf("an Ed25519 private key of %d", ed25519.PrivateKeySize))
	}
	return nil
}

// File is a durable ledger, made by Create, Open or OpenFor. It is safe for concurrent
// use; one lock orders all calls, so a Charge waits for those before it.
type File struct {
	folder
	opt  Options
	lock io.Closer

	history
	admission
	tail
	round  uint64
	poison error
	closed bool
}

// history is what has been recorded, behind the lock of its ledger.
type history struct {
	mu    sync.Mutex
	chain *chain
}

// admission is what decides whether an answer is charged.
type admission struct {
	filter    account.Filter
	exhausted bool
	dataless  bool   // the data set in use is not known
	byValue   bool   // the fingerprint of the data set is of format 2
	byName    bool   // the data set in use is of the ledger's population, whatever its records
	last      *tally // of the last charge
}

// tail is where the next record goes.
type tail struct {
	seg    Appender
	at     end
	sealed []sealedSegment // those before
	buf    []byte
}

var _ Ledger = (*File)(nil)

// usable returns why nothing may be written any more.
func (f *File) usable() error {
	if f.closed {
		return ErrClosed
	}
	return f.poison
}

// Charge implements Ledger. It admits ev, appends its record and syncs it before it
// returns. Errors: account.ErrExhausted and account.ErrUnsupported (nothing was written),
// a config.Error (ev does not fit the ledger), ErrDataset (opened without a fingerprint),
// ErrClosed, ErrPoisoned. None depends on private data.
func (f *File) Charge(ev account.Event) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, err
	}
	if f.dataless {
		return 0, fmt.Errorf("%w: %s was opened without the fingerprint of the data", ErrDataset, f.dir)
	}
	if f.exhausted {
		return 0, fmt.Errorf("%w: the charges of the past exceed it", account.ErrExhausted)
	}
	t := f.last
	if t == nil || t.event != ev {
		var err error
		if t, err = f.chain.tally(ev); err != nil {
			return 0, err
		}
	}
	if t.total >= maxCount {
		return 0, fmt.Errorf("%w: 2^53 charges of one event", account.ErrExhausted)
	}
	// not ev: filters remember the price of the value they saw last
	if err := f.filter.Admit(t.event, 1); err != nil {
		return 0, err
	}
	f.last = t
	return f.write(Charge, func(e *entry) *tally {
		e.Total, e.event = t.total+1, t.text
		return t
	})
}

// Override implements Ledger. note is at most 4096 bytes of UTF-8 and not empty.
func (f *File) Override(note string) error {
	if note == "" || len(note) > maxNote || !utf8.ValidString(note) {
		return config.Bad("note", fmt.Sprintf("%d bytes", len(note)),
			fmt.Sprintf("1 to %d bytes of UTF-8", maxNote))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	_, err := f.write(Override, func(e *entry) *tally {
		e.Note = note
		return nil
	})
	return err
}

// SetRound sets the coarse time of later records. The ledger holds no finer time than
// this public number, below 2^63.
func (f *File) SetRound(round uint64) {
	f.mu.Lock()
	f.round = min(round, 1<<63-1)
	f.mu.Unlock()
}

// write appends one record, after a rotate record if the segment is full, and returns its
// number. complete fills in what the kind needs and returns the tally of a charge.
func (f *File) write(kind Kind, complete func(e *entry) *tally) (uint64, error) {
	if f.at.size >= f.opt.SegmentSize {
		if err := f.nextSegment(); err != nil {
			return 0, err
		}
	}
	e := f.chain.entry(kind)
	e.Round, e.Run, e.Agent = f.round, f.opt.Run, f.opt.Agent
	t := complete(&e)
	if kind == Closed || kind == Stated || kind == Restored {
		e.signature = ed25519.Sign(f.opt.Key, e.unsigned())
	}
	return e.Seq, f.commit(&e, t)
}

// commit makes a record durable. After an error nobody knows what is on the disk, so
// nothing more is written.
func (f *File) commit(e *entry, t *tally) error {
	f.buf = e.append(append(f.buf[:0], make([]byte, frameHeader)...))
	payload := f.buf[frameHeader:]
	appendFrame(f.buf[:0], payload) // the payload stays where it is
	n, err := f.seg.Write(f.buf)
	if err == nil && n != len(f.buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.seg.Sync()
	}
	if err != nil {
		return f.poisoned(err)
	}
	f.at.size += int64(len(f.buf))
	f.chain.add(e, t, payload)
	return nil
}

func (f *File) poisoned(err error) error {
	f.poison = fmt.Errorf("%w: %w", ErrPoisoned, err)
	return f.poison
}

// nextSegment seals the segment and starts the next one. Every record of the old one is
// durable already. Its seal counts only once there is a segment after it.
func (f *File) nextSegment() error {
	sealed := append(f.sealed[:len(f.sealed):len(f.sealed)], f.chain.end(f.at.size))
	if err := f.putSeal(f.at.segment, f.chain.seal(sealed), f.opt.Key); err != nil {
		return f.poisoned(err)
	}
	f.sealed = sealed
	err := f.seg.Close()
	if err == nil {
		f.seg, err = f.opt.FS.Create(f.segmentPath(f.at.segment + 1))
	}
	if err == nil {
		err = f.opt.FS.SyncDir(f.dir)
	}
	if err != nil {
		return f.poisoned(err)
	}
	f.at = end{segment: f.at.segment + 1}
	e := f.chain.entry(Rotated)
	e.Round, e.Run, e.Agent = f.round, f.opt.Run, f.opt.Agent
	return f.commit(&e, nil)
}

// Records implements Ledger: it reads, and checks again, what is on the disk. An error
// ends it.
func (f *File) Records() iter.Seq2[Record, error] {
	f.mu.Lock()
	at := f.at
	f.mu.Unlock()
	return func(yield func(Record, error) bool) {
		s := scanner{fs: f.opt.FS, dir: f.dir, chain: newChain(f.chain.genesis, f.chain.origin)}
		if _, err := s.yield(&at, yield); err != nil && !errors.Is(err, errStop) {
			yield(Record{}, err)
		}
	}
}

// Head implements Ledger: the number of the last record and its hash.
func (h *history) Head() Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chain.head()
}

// Genesis returns what the ledger protects.
func (h *history) Genesis() Genesis { return h.chain.genesis }

// Dir returns the ledger's directory.
func (f *File) Dir() string { return f.dir }

// Spent returns epsilon at the lifetime delta for everything charged so far, over all
// runs.
func (f *File) Spent() (Claim, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.chain.claim(f.opt.Accountant)
	if err != nil {
		return Claim{}, err
	}
	return *c, nil
}

// Close implements Ledger: it writes a signed record with the epsilon so far and lets the
// lock go. A poisoned ledger writes nothing and returns ErrPoisoned. A second Close does
// nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	err := f.poison
	if err == nil {
		err = f.writeClose()
	}
	return errors.Join(err, f.release())
}

func (f *File) writeClose() error {
	c, err := f.chain.claim(f.opt.Accountant)
	if err != nil {
		return err
	}
	_, err = f.write(Closed, func(e *entry) *tally {
		e.Claim = c
		return nil
	})
	return err
}

// release gives up files and lock.
func (f *File) release() error {
	f.closed = true
	var err error
	if f.seg != nil {
		if err = f.seg.Close(); f.poison != nil {
			err = nil // Close told of the poison
		}
	}
	return errors.Join(err, f.lock.Close())
}
