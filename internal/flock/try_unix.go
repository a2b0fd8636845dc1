//go:build linux || darwin

package flock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Try tries to take an exclusive lock on f without waiting. It ends when f is closed.
func Try(f *os.File) (taken bool, err error) {
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
