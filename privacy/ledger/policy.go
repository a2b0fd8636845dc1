package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sotto/config"
)

// OpenFor opens the ledger that the data set p must be charged to, in the owner's policy
// directory, which holds all ledgers of one owner. A ledger whose data set shares a
// record with p is opened, whatever g says about the budget, and p's records are added to
// it; so a corrected or a grown data set stays under the old budget. Otherwise a new
// ledger is made from g. ErrDataset: p overlaps several ledgers, each with its own
// budget, or one that was made for another adjacency or unit. The directory is locked
// meanwhile.
func OpenFor(policyDir string, p *Fingerprint, g Genesis, o Options) (*File, error) {
	if p == nil {
		return nil, config.Bad("fingerprint", "nothing", "the fingerprint of the data in use")
	}
	if err := errors.Join(o.fill(), o.needKey()); err != nil {
		return nil, err
	}
	o.Fingerprint = p
	if err := o.FS.MkdirAll(policyDir); err != nil {
		return nil, err
	}
	lock, err := o.FS.Lock(filepath.Join(policyDir, lockFile))
	if err != nil {
		return nil, err
	}
	f, err := openFor(policyDir, g, o)
	if cerr := lock.Close(); cerr != nil && err == nil {
		return nil, errors.Join(cerr, f.Close())
	}
	return f, err
}

func openFor(policyDir string, g Genesis, o Options) (*File, error) {
	dirs, err := overlapping(policyDir, o.FS, o.Fingerprint)
	if err != nil {
		return nil, err
	}
	switch len(dirs) {
	case 0:
		return Create(filepath.Join(policyDir, o.Fingerprint.Tag()), g, o)
	case 1:
	default:
		return nil,
			fmt.Errorf("%w: it shares records with several ledgers, %v; allowed: data that overlap one",
				ErrDataset, dirs)
	}
	old, _, err := readGenesis(o.FS, dirs[0], publicKey(o.Key))
	if err != nil {
		return nil, err
	}
	if old.Adjacency != g.Adjacency || old.Unit != g.Unit {
		return nil, fmt.Errorf("%w: %s has adjacency %v and unit %v, asked: %v and %v", ErrDataset, dirs[0],
			old.Adjacency, old.Unit, g.Adjacency, g.Unit)
	}
	return Open(dirs[0], o)
}

// overlapping returns the ledgers below policyDir whose data share a record with p.
func overlapping(policyDir string, fsys FS, p *Fingerprint) (dirs []string, err error) {
	names, err := fsys.List(policyDir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if n == lockFile || strings.HasPrefix(n, ".") {
			continue
		}
		dir := filepath.Join(policyDir, n)
		born, _, err := leftovers(fsys, dir)
		if err != nil {
			return nil, err
		}
		if !born {
			continue
		}
		_, stored, err := storedFingerprints(fsys, dir)
		if err != nil {
			return nil, err
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: %s lacks its fingerprint", ErrDataset, dir)
		}
		shares, err := stored.Overlaps(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if shares {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
