package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sotto/internal/atomicfile"
	"sotto/internal/flock"
)

// Dir is a run directory under construction: everything is written into NAME.partial,
// which becomes NAME by one rename when the run is complete. A finished run is never
// touched again.
type Dir struct {
	Out, Name string // the folder of run directories, and the name in it
	Path      string // of the directory under construction
	// Write puts a file on disk, as atomicfile.Stream does where it is nil; tests replace
	// it to fill the disk.
	Write func(path string, fill func(w io.Writer) error) error

	lock *flock.Lock
}

// New makes out/name.partial, which nobody else then works in; where that or a finished
// run of that name exists, name-2 and so on. Without out it is made where the process
// works.
func New(out, name string) (*Dir, error) {
	out = cmp.Or(out, ".")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for i := 1; ; i++ {
		d := &Dir{Out: out, Name: name}
		if i > 1 {
			d.Name = fmt.Sprintf("%s-%d", name, i)
		}
		if _, err := os.Lstat(filepath.Join(out, d.Name)); err == nil {
			continue
		}
		d.Path = filepath.Join(out, d.Name+PartialSuffix)
		var busy *flock.Busy
		if err := d.take(); errors.As(err, &busy) {
			continue
		} else if err != nil {
			return nil, err
		}
		err := os.Mkdir(d.Path, 0o755)
		if err == nil {
			return d, nil
		}
		if err := d.Release(); err != nil {
			return nil, err
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// Left is what an interrupted run has left, in which nobody else then works: *flock.Busy
// says that the run is not over. There may be nothing. Files that were being written go.
func Left(out, name string) (*Dir, error) {
	d := &Dir{Out: out, Name: name, Path: filepath.Join(out, name+PartialSuffix)}
	if _, err := os.Lstat(d.Path); err != nil {
		return d, nil
	}
	if err := d.take(); err != nil {
		return d, err
	}
	if err := atomicfile.Clear(d.Path); err != nil {
		return d, errors.Join(err, d.Release())
	}
	return d, nil
}

func (d *Dir) take() (err error) {
	d.lock, err = flock.Take(d.Path)
	return err
}

// Release lets others work in the directory. It may be called again.
func (d *Dir) Release() error { return d.lock.Release() }

// Put writes one file of the run.
func (d *Dir) Put(name string, b []byte) error {
	return d.Stream(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Stream writes one file of the run with what fill writes.
func (d *Dir) Stream(name string, fill func(w io.Writer) error) error {
	path := filepath.Join(d.Path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	write := d.Write
	if write == nil {
		write = atomicfile.Stream
	}
	if err := write(path, fill); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	return nil
}

// Finish drops the checkpoint and gives the directory its final name.
func (d *Dir) Finish() (string, error) {
	if err := os.Remove(filepath.Join(d.Path, CheckpointFile)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("run directory: %w", err)
	}
	base := d.Name
	for i := 2; ; i++ {
		final := filepath.Join(d.Out, d.Name)
		if _, err := os.Lstat(final); errors.Is(err, fs.ErrNotExist) {
			err := os.Rename(d.Path, final)
			if err == nil {
				return final, nil
			}
			if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
				return "", fmt.Errorf("run directory: %w", err)
			}
		}
		d.Name = fmt.Sprintf("%s-%d", base, i)
	}
}
