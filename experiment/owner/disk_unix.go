//go:build linux || darwin || freebsd

package owner

import "golang.org/x/sys/unix"

// diskFree is how many bytes a folder's disk has for this process; 0: not known.
func diskFree(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return uint64(s.Bavail) * uint64(s.Bsize)
}
