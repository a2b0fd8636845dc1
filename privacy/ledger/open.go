package ledger

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"

	"sotto/privacy/account"
)

// Create makes a ledger in dir and opens it. dir may exist; a ledger in it is an error
// that wraps fs.ErrExist. What an interrupted Create left behind is cleared away, for it
// cannot hold a charge.
func Create(dir string, g Genesis, o Options) (*File, error) {
	if err := errors.Join(o.fill(), o.needKey()); err != nil {
		return nil, err
	}
	if err := g.validate(o.AcceptDelta); err != nil {
		return nil, err
	}
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, err
	}
	return take(dir, o, func(f *File) error { return f.create(g) })
}

// Open opens the ledger in dir: it checks every record, cuts a torn last one if nothing
// known came of it, feeds the filter with all charges so far and writes an open record.
// Besides the errors of this package it returns fs.ErrNotExist for a directory without a
// ledger.
func Open(dir string, o Options) (*File, error) {
	if err := errors.Join(o.fill(), o.needKey()); err != nil {
		return nil, err
	}
	if _, err := readAll(o.FS, filepath.Join(dir, GenesisFile), maxGenesis); err != nil {
		return nil, err // no lock file is left where no ledger is
	}
	return take(dir, o, (*File).open)
}

// take locks dir and brings a File into being.
func take(dir string, o Options, begin func(f *File) error) (*File, error) {
	if err := o.FS.Check(dir); err != nil {
		return nil, err
	}
	lock, err := o.FS.Lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	f := &File{folder: folder{o.FS, dir}, opt: o, lock: lock}
	if err := begin(f); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// start makes the filter and charges the past to it.
func (f *File) start() (err error) {
	g := &f.chain.genesis
	if f.filter = f.opt.Filter; f.filter == nil {
		if f.filter, err = account.NewRDPFilter(g.Adjacency, g.Unit, g.Budget); err != nil {
			return err
		}
	}
	f.exhausted, err = f.chain.replay(f.filter)
	return err
}

// create writes the data set, the first segment and, last of all, the genesis: without a
// genesis there is no ledger, and with it there is a first record.
func (f *File) create(g Genesis) error {
	if err := f.clear(); err != nil {
		return err
	}
	accepted := !g.smallDelta()
	if err := g.sign(f.opt.Key); err != nil {
		return err
	}
	text, err := g.encode()
	if err != nil {
		return err
	}
	content := append(text, '\n')
	g, hash, err := parseGenesis(content)
	if err != nil {
		return err
	}
	f.chain = newChain(g, hash)
	if err := f.start(); err != nil {
		return err
	}
	tag := ""
	if p := f.opt.Fingerprint; p != nil {
		if tag, err = f.storeFingerprint(p); err != nil {
			return err
		}
		f.byValue = p.byValue()
	}
	if f.seg, err = f.opt.FS.Create(f.segmentPath(1)); err != nil {
		return err
	}
	f.at = end{segment: 1}
	if err := f.begin(tag, ""); err != nil {
		return err
	}
	if accepted {
		note := fmt.Sprintf("delta %g is not below 1/min_records, min_records = %d", g.Budget.Delta,
			g.MinRecords)
		if _, err := f.write(Override, func(e *entry) *tally { e.Note = note; return nil }); err != nil {
			return err
		}
	}
	if len(g.Beside) > 0 {
		note := begunNote(g.Beside)
		if _, err := f.write(Override, func(e *entry) *tally { e.Note = note; return nil }); err != nil {
			return err
		}
	}
	if err := f.opt.FS.SyncDir(f.dir); err != nil {
		return err
	}
	return f.put(GenesisFile, content)
}

// begin writes the open record.
func (f *File) begin(tag, note string) error {
	_, err := f.write(Opened, func(e *entry) *tally {
		e.Dataset, e.Note, e.byValue = tag, note, f.byValue
		return nil
	})
	return err
}

// open reads the ledger and takes it up where it ends.
func (f *File) open() error { return f.openOf(publicKey(f.opt.Key)) }

// openOf opens a ledger whose present key is owner.
func (f *File) openOf(owner ed25519.PublicKey) error {
	f.opt.PublicKey = owner
	s, err := newScanner(f.dir, &f.opt)
	if err != nil {
		return err
	}
	f.chain = s.chain
	s.use = true
	s.missing = func(n int, sum *seal) error { return f.putSeal(n, sum, f.opt.Key) }
	at, err := s.scan(nil)
	if err != nil {
		return err
	}
	if err := s.checkWhole(at, f.opt.KnownSeq); err != nil {
		return err
	}
	if err := f.start(); err != nil {
		return err
	}
	tag, err := f.matchData()
	if err != nil {
		return err
	}
	f.sealed = s.done
	note, err := f.resume(at)
	if err != nil {
		return err
	}
	if err := f.begin(tag, note); err != nil {
		return err
	}
	return f.tidy(tag, f.opt.Fingerprint != nil)
}

// resume opens the last segment for writing and cuts what is torn.
func (f *File) resume(at end) (note string, err error) {
	name := fmt.Sprintf(segmentName, at.segment)
	if f.seg, err = f.opt.FS.Append(f.segmentPath(at.segment)); err != nil {
		return "", err
	}
	if at.torn > 0 {
		note = fmt.Sprintf("cut a torn record of %d bytes at byte %d of %s", at.torn, at.size, name)
		if err := f.seg.Truncate(at.size); err != nil {
			return "", err
		}
		if err := f.seg.Sync(); err != nil { // at most one change is ever pending
			return "", err
		}
	}
	f.at = end{segment: at.segment, size: at.size}
	return note, nil
}
