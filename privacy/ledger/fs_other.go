//go:build !linux && !darwin

package ledger

import (
	"fmt"
	"os"
	"runtime"
)

func fileSystem(dir string) (kind string, volatile bool, err error) {
	return "", true, fmt.Errorf("%w: %s: durable ledgers are supported on linux and darwin, not on %s",
		ErrDurability, dir, runtime.GOOS)
}

func syncData(f *os.File) error { return f.Sync() }

func bootID() string { return "unknown" }

// Free is not known here.
func (OS) Free(dir string) (uint64, error) {
	return 0, fmt.Errorf("%w: %s: durable ledgers are supported on linux and darwin, not on %s",
		ErrDurability, dir, runtime.GOOS)
}
