package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sotto/internal/flock"
)

// FS is the file system below a durable ledger. [OS] is the real one; package ledgertest
// has one that crashes. Errors about missing and existing files wrap fs.ErrNotExist and
// fs.ErrExist.
type FS interface {
	// Check refuses, with ErrDurability, a directory that may lose what was synced or
	// where locks do not hold.
	Check(dir string) error
	// MkdirAll makes dir and its parents durably. It is no error if they exist.
	MkdirAll(dir string) error
	// List returns the names in dir in order.
	List(dir string) ([]string, error)
	// Size returns the number of bytes of a file.
	Size(name string) (int64, error)
	// Open opens a file for reading from its start.
	Open(name string) (io.ReadCloser, error)
	// Create makes an empty file that must not exist yet; Append opens one that does.
	Create(name string) (Appender, error)
	Append(name string) (Appender, error)
	// Rewrite opens a file that exists for writing from its start, over what it holds,
	// whose rest stays.
	Rewrite(name string) (Appender, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock named by a file until it is closed or the process
	// ends, however it ends. It does not wait: ErrLocked says that the lock is taken.
	Lock(name string) (io.Closer, error)
}

// Appender is an open file whose writes go to its end, or follow each other from the
// start after FS.Rewrite.
type Appender interface {
	io.WriteCloser
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Sync makes content and size durable.
	Sync() error
}

// OS is the operating system's file system, on Linux and macOS. It syncs with fdatasync
// (macOS: F_FULLFSYNC) and locks with flock. On other systems it refuses every directory.
type OS struct {
	// AllowVolatile accepts file systems that do not outlive a power loss or may not
	// honor a sync: memory (tmpfs), network and user-space ones. Whoever sets it should
	// record an Override. Locks must hold in any case.
	AllowVolatile bool
}

var _ FS = OS{}

// Check implements FS.
func (o OS) Check(dir string) error {
	kind, volatile, err := fileSystem(dir)
	if err != nil {
		return err
	}
	if volatile && !o.AllowVolatile {
		return fmt.Errorf("%w: %s is on %s, allowed: a local disk", ErrDurability, dir, kind)
	}
	return nil
}

// MkdirAll implements FS.
func (o OS) MkdirAll(dir string) error {
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := o.MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.SyncDir(parent)
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Size implements FS.
func (OS) Size(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Open implements FS.
func (OS) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Create implements FS.
func (OS) Create(name string) (Appender, error) {
	return appender(os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600))
}

// Append implements FS.
func (OS) Append(name string) (Appender, error) {
	return appender(os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0))
}

// Rewrite implements FS.
func (OS) Rewrite(name string) (Appender, error) {
	return appender(os.OpenFile(name, os.O_WRONLY, 0))
}

type osFile struct{ *os.File }

func appender(f *os.File, err error) (Appender, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Sync() error { return syncData(f.File) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// Lock implements FS. The file holds the process id and the boot id of its holder, for
// the error message and for a person; what counts is the flock, which ends with its
// process. A second descriptor probes that the file system enforces it.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := takeLock(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func takeLock(f *os.File, name string) error {
	taken, err := flock.Try(f)
	if err != nil {
		return fmt.Errorf("%w: no lock on %s: %w", ErrDurability, name, err)
	}
	if !taken {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		return fmt.Errorf("%w: %s is held by %q", ErrLocked, name, bytes.TrimSpace(holder))
	}
	probe, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer probe.Close()
	if second, err := flock.Try(probe); err != nil || second {
		return fmt.Errorf("%w: locks on %s are not enforced", ErrDurability, name)
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "pid %d boot %s\n", os.Getpid(), bootID())
	return err
}
