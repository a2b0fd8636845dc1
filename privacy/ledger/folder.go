package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// folder is the directory of a ledger.
type folder struct {
	fs  FS
	dir string
}

// segmentPath is where segment n lies.
func (d folder) segmentPath(n int) string {
	return filepath.Join(d.dir, fmt.Sprintf(segmentName, n))
}

// put writes a whole file so that it is there entirely or not at all.
func (d folder) put(name string, content []byte) error {
	path := filepath.Join(d.dir, name)
	if err := d.fs.Remove(path + tempSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := d.fs.Create(path + tempSuffix)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := d.fs.Rename(path+tempSuffix, path); err != nil {
		return err
	}
	return d.fs.SyncDir(d.dir)
}

// clear removes what an interrupted create left.
func (d folder) clear() error {
	born, left, err := leftovers(d.fs, d.dir)
	if err != nil {
		return err
	}
	if born {
		return fmt.Errorf("ledger: %s: %w", d.dir, fs.ErrExist)
	}
	for _, n := range left {
		if err := d.fs.Remove(filepath.Join(d.dir, n)); err != nil {
			return err
		}
	}
	return nil
}

// leftovers reports whether dir holds a ledger and, if not, what an interrupted create
// left there. Segments that hold charges but have no genesis are an error: then it was
// not yet to come but was lost.
func leftovers(fsys FS, dir string) (born bool, left []string, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return false, nil, err
	}
	if slices.Contains(names, GenesisFile) {
		return true, nil, nil
	}
	for _, n := range names {
		switch {
		case n == fmt.Sprintf(segmentName, 1):
			if err := checkUnborn(fsys, filepath.Join(dir, n)); err != nil {
				return false, nil, err
			}
			left = append(left, n)
		case strings.HasSuffix(n, ".log"):
			return false, nil, fmt.Errorf("%w: %s holds %s but no %s", ErrCorrupt, dir, n, GenesisFile)
		case strings.HasSuffix(n, tempSuffix), strings.HasSuffix(n, sealSuffix),
			strings.HasPrefix(n, fingerprintPrefix):
			left = append(left, n)
		}
	}
	return false, left, nil
}

func checkUnborn(fsys FS, name string) error {
	b, err := readAll(fsys, name, 2*maxFrame)
	if err != nil {
		return err
	}
	var e entry
	for {
		payload, ok := cutFrame(b)
		if !ok {
			return nil
		}
		if err := e.parse(payload); err != nil || e.Kind == Charge {
			return fmt.Errorf("%w: %s holds charges but there is no %s", ErrCorrupt, name, GenesisFile)
		}
		b = b[frameHeader+len(payload):]
	}
}

// storeFingerprint writes p beside the ledger and returns its tag.
func (d folder) storeFingerprint(p *Fingerprint) (string, error) {
	tag := p.Tag()
	return tag, d.put(fingerprintName(tag), p.encode())
}

// tidy removes what an earlier process left: half-written files, and if
// contains the fingerprints beside the one named by tag, which are part of it.
func (d folder) tidy(tag string, contains bool) error {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		contained := contains && strings.HasPrefix(n, fingerprintPrefix) &&
			n != fingerprintName(tag)
		if contained || strings.HasSuffix(n, tempSuffix) {
			if err := d.fs.Remove(filepath.Join(d.dir, n)); err != nil {
				return err
			}
		}
	}
	return nil
}
