//go:build linux || darwin

package ledger

import (
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
