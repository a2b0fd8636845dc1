// Package flock takes locks on files that end with their process, however it ends.
package flock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Busy is the error of work on Path that another process is at, or another goroutine of
// this one.
type Busy struct{ Path string }

func (b *Busy) Error() string {
	return fmt.Sprintf("%s: another process is at it; wait until it ends, or stop it", b.Path)
}

// Lock is the right to work on something. A nil one is that of a file system that knows
// no locks.
type Lock struct {
	path string
	file *os.File
}

// Take takes the right to work on path, without waiting: *Busy says that another has it.
// It stands in a hidden file beside path, which is there as long as somebody works, or
// was killed. Where the file system has no locks nothing is locked.
func Take(path string) (*Lock, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		taken, err := Try(f)
		if err != nil {
			return nil, errors.Join(os.Remove(name), f.Close())
		}
		if !taken {
			return nil, errors.Join(&Busy{path}, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		there, err := os.Stat(name)
		if err == nil && os.SameFile(mine, there) {
			return &Lock{name, f}, nil
		}
		// Its holder has ended, and removed it, between the two calls.
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// Release gives the right back. It may be called again.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // with its directory
	}
	return errors.Join(err, f.Close())
}
