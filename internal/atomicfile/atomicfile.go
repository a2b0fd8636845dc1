// Package atomicfile replaces files so that a crash leaves either the old bytes or the
// new ones.
package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write writes through a temporary file, so that path holds either all of b or what it
// held before.
func Write(path string, b []byte) error {
	return Stream(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Stream is Write of what fill writes, which need not be in memory at once.
func Stream(path string, fill func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
