package ledger

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sotto/config"
)

// Rotate replaces the key that the ledger was opened with by next, in one record that
// both have signed. It is durable when Rotate returns; next signs everything from then
// on. Where next is the key already, Rotate does nothing, so that it can be called again
// after a crash. Errors: a config.Error (next is no key, or one that the ledger had
// before; nothing was written), ErrClosed, ErrPoisoned. After ErrPoisoned one of the two
// keys holds: the function [Rotate] finds out which and completes the rotation.
func (f *File) Rotate(next ed25519.PrivateKey) error { return rekey(f, next, "") }

// rekey is Rotate, with the note of an old key that was lost.
func rekey(f *File, next ed25519.PrivateKey, note string) error {
	if err := checkKey("new key", next); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	c, to := f.chain, publicKey(next)
	if c.key.Equal(to) {
		return nil
	}
	if err := c.neverHad(f.dir, to); err != nil {
		return err
	}
	_, err := f.write(Rekeyed, func(e *entry) *tally {
		e.Rotation = &Rotation{Seq: e.Seq, Prev: hex.EncodeToString(e.prev[:]), Note: note}
		e.Rotation.sign(c.id, c.key, f.opt.Key, next)
		if e.Note = note; note != "" {
			e.overrides++
		}
		return nil
	})
	if err == nil {
		f.opt.Key, f.opt.PublicKey = next, to
	}
	return err
}

// checkKey refuses what is no whole private key: a ledger that was given to such a key
// could not be opened any more.
func checkKey(name string, key ed25519.PrivateKey) error {
	if len(key) == ed25519.PrivateKeySize {
		whole := ed25519.NewKeyFromSeed(key.Seed())
		if whole.Equal(key) {
			return nil
		}
	}
	return config.Bad(name, fmt.Sprintf("%d bytes that are no key", len(key)),
		fmt.Sprintf("an Ed25519 private key of %d", ed25519.PrivateKeySize))
}

// Replacement says which key of an owner is replaced by which.
type Replacement struct {
	Old ed25519.PrivateKey // nil with Lost
	New ed25519.PrivateKey
	// Lost says that there is no old key any more, or none to be trusted. The record then
	// lacks its signature, every later statement lists that among its overrides, and
	// nobody who trusts the old key can follow to the new one.
	Lost bool
	// Reason says why, with Lost; public, 1 to 200 bytes without control characters. ""
	// is "lost".
	Reason string
}

func (r *Replacement) validate() error {
	if err := checkKey("new key", r.New); err != nil {
		return err
	}
	if r.Lost && r.Old != nil {
		return config.Bad("old key", "one that is lost", "no old key with lost")
	}
	if !r.Lost && r.Reason != "" {
		return config.Bad("reason", r.Reason, "nothing without lost")
	}
	if r.Lost && !checkReason(r.note()) {
		return config.Bad("reason", fmt.Sprintf("%q", r.Reason),
			fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxReason))
	}
	if r.Lost {
		return nil
	}
	return checkKey("old key", r.Old)
}

// note is that of the record, "" unless the key was lost.
func (r *Replacement) note() string {
	switch {
	case !r.Lost:
		return ""
	case r.Reason == "":
		return lostNote + "lost"
	}
	return lostNote + r.Reason
}

// RotatedKey says which key a ledger has after a rotation.
type RotatedKey struct {
	Dir     string
	Key     HeldKey
	Changed bool // the key was replaced now; else the ledger had it already
}

// Rotate replaces the key of the ledger in dir, which nobody may have open. A ledger that
// has r.New already is left as it is, so that a rotation that was interrupted is
// completed by another one. Of o it uses FS, Accountant, Run, Agent, SegmentSize,
// KnownSeq and KnownHead. Besides the errors of [Open] there are ErrKey, for a ledger
// that has neither of the two keys, and a config.Error, for a new key that the ledger had
// before; nothing was written then.
func Rotate(dir string, r Replacement, o Options) (RotatedKey, error) {
	done := RotatedKey{Dir: dir}
	if err := errors.Join(o.fill(), r.validate()); err != nil {
		return done, err
	}
	if _, err := readAll(o.FS, filepath.Join(dir, GenesisFile), maxGenesis); err != nil {
		return done, err
	}
	o.Key, o.PublicKey, o.Fingerprint, o.Filter = nil, nil, nil, nil
	f, err := take(dir, o, func(f *File) error {
		now, err := ownerOf(dir, &r, &f.opt)
		if err != nil {
			return err
		}
		if now.Equal(publicKey(r.New)) {
			return errHeld
		}
		if f.opt.Key = r.Old; r.Lost {
			f.opt.Key = r.New
		}
		return f.openOf(now)
	})
	if errors.Is(err, errHeld) {
		b, err := Read(dir, Options{FS: o.FS})
		if err != nil {
			return done, err
		}
		done.Key = b.latest()
		return done, nil
	}
	if err != nil {
		return done, err
	}
	if err = rekey(f, r.New, r.note()); err == nil {
		done.Changed, done.Key = true, f.latest()
	}
	return done, errors.Join(err, f.Close())
}

// errHeld says that a ledger has its new key.
var errHeld = errors.New("ledger: the key is held already")

// ownerOf is the present key of the ledger in dir, and says why r does not replace it.
func ownerOf(dir string, r *Replacement, o *Options) (ed25519.PublicKey, error) {
	b, err := Read(dir, Options{FS: o.FS, KnownSeq: o.KnownSeq, KnownHead: o.KnownHead})
	if err != nil {
		return nil, err
	}
	now, next := b.chain.key, publicKey(r.New)
	if now.Equal(next) {
		return now, nil
	}
	if err := b.chain.neverHad(dir, next); err != nil || r.Lost {
		return now, err
	}
	return now, b.chain.owned(dir, publicKey(r.Old))
}

// RotateAll replaces the key of every ledger in an owner's policy directory, as [Rotate]
// does, and reports each one as it is done. dir may be a single ledger as well. Nothing
// is written if one of them cannot get the new key. After an error or a crash it can be
// called again, and completes what it began. fs.ErrNotExist: there is no ledger.
func RotateAll(dir string, r Replacement, o Options, report func(RotatedKey)) error {
	if err := errors.Join(o.fill(), r.validate()); err != nil {
		return err
	}
	if _, err := o.FS.Size(filepath.Join(dir, GenesisFile)); err == nil {
		done, err := Rotate(dir, r, o)
		if err == nil || done.Changed {
			report(done)
		}
		return err
	}
	o.KnownSeq, o.KnownHead = 0, Head{} // of one ledger
	if _, err := o.FS.List(dir); err != nil {
		return err
	}
	if err := o.FS.Check(dir); err != nil {
		return err
	}
	lock, err := o.FS.Lock(filepath.Join(dir, lockFile))
	if err != nil {
		return err
	}
	return errors.Join(rotateIn(dir, r, o, report), lock.Close())
}

func rotateIn(dir string, r Replacement, o Options, report func(RotatedKey)) error {
	all, err := ledgersIn(o.FS, dir)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("ledger: %s holds no ledger: %w", dir, fs.ErrNotExist)
	}
	for _, l := range all {
		if _, err := ownerOf(l, &r, &o); err != nil {
			return err
		}
	}
	for _, l := range all {
		done, err := Rotate(l, r, o)
		if err == nil || done.Changed {
			report(done)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ledgersIn lists the directories of the ledgers in an owner's policy directory. Files
// there are passed over. A config.Error names a folder that cannot be looked into: nobody
// knows whether it holds a ledger.
func ledgersIn(fsys FS, policyDir string) (all []string, err error) {
	names, err := fsys.List(policyDir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, unread(err)
	}
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if n == lockFile || strings.HasPrefix(n, ".") {
			continue
		}
		dir := filepath.Join(policyDir, n)
		born, _, err := leftovers(fsys, dir)
		switch {
		case errors.Is(err, syscall.ENOTDIR):
			continue
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist): // a link to nowhere
			return nil, unread(err)
		case err != nil:
			return nil, err
		}
		if born {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return all, nil
}

// unread says that a place in a policy directory cannot be looked into.
func unread(err error) error {
	return config.Bad("ledger", err, "a folder of ledgers in which the node may read every folder")
}

// PublicKey returns the key of the ledger as it is now.
func (h *history) PublicKey() ed25519.PublicKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.chain.key)
}

// Keys returns all keys that the ledger has had, the first one first; the last one holds.
func (h *history) Keys() []HeldKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chain.keys()
}

func (h *history) latest() HeldKey {
	all := h.Keys()
	return all[len(all)-1]
}

// PublicKey returns the key of the ledger as it was read.
func (b *Books) PublicKey() ed25519.PublicKey { return slices.Clone(b.chain.key) }

// Keys returns all keys that the ledger has had, the first one first; the last one holds.
func (b *Books) Keys() []HeldKey { return b.chain.keys() }

func (b *Books) latest() HeldKey {
	all := b.Keys()
	return all[len(all)-1]
}
