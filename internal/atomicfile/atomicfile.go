// Package atomicfile replaces files so that a crash leaves either the old bytes or the
// new ones.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Write writes through a temporary file, so that path holds either all of b or what it
// held before.
func Write(path string, b []byte) error { return WriteMode(path, b, 0o644) }

// WriteMode is Write of a file with other permissions.
func WriteMode(path string, b []byte, mode fs.FileMode) error {
	return through(path, all(b), mode, os.Rename)
}

// Stream is Write of what fill writes, which need not be in memory at once.
func Stream(path string, fill func(w io.Writer) error) error {
	return through(path, fill, 0o644, os.Rename)
}

// WriteDurable is WriteMode of a file that is there after a loss of power, too.
func WriteDurable(path string, b []byte, mode fs.FileMode) error {
	return durable(path, WriteMode(path, b, mode))
}

// Create is WriteDurable of a new file: one that is there stays, and is fs.ErrExist.
func Create(path string, b []byte, mode fs.FileMode) error {
	return durable(path, through(path, all(b), mode, func(temp, path string) error {
		err := os.Link(temp, path)
		if err == nil {
			return os.Remove(temp)
		}
		if _, there := os.Lstat(path); there == nil || errors.Is(err, fs.ErrExist) {
			return fs.ErrExist
		}
		return os.Rename(temp, path) // a file system without links
	}))
}

// durable waits until the name that a file was given is on disk.
func durable(path string, written error) error {
	if written != nil {
		return written
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Glob is filepath.Glob of a pattern below dir, whose own name may have brackets and
// stars: it is no pattern.
func Glob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(filepath.Clean(dir)), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, err
}

func all(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// through fills a temporary file beside path, and puts it in place.
func through(path string, fill func(w io.Writer) error, mode fs.FileMode,
	place func(temp, path string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		if at, ok := err.(*fs.PathError); ok {
			at.Path = path
		}
		return err
	}
	if err = fill(f); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// temporary are the names of files that through fills.
var temporary = regexp.MustCompile(`^\..+-[0-9]+$`)

// Clear removes what writes that were killed have left in dir, and below. Nobody may be
// writing there.
func Clear(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && temporary.MatchString(d.Name()) {
			err = os.Remove(path)
		}
		return err
	})
}
