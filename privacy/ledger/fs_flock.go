//go:build linux || darwin

package ledger

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// flock tries to take an exclusive lock without waiting.
func flock(f *os.File) (taken bool, err error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
		default:
			return false, err
		}
	}
}

// Free returns how many bytes whoever runs this may still write to the file system of
// dir.
func (OS) Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ledger: %s: %w", dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}
