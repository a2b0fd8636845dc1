package scratch

import "golang.org/x/sys/unix"

// memory is where Linux mounts a file system in memory for everybody.
const memory = "/dev/shm"

// room is several times what the tests of all packages hold at once.
const room = 1 << 30

// roomy reports that dir is in memory, has room, and lets programs start: containers may
// mount it small, or for data alone.
func roomy(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.TMPFS_MAGIC && s.Flags&unix.ST_NOEXEC == 0 &&
		s.Bavail*uint64(s.Bsize) >= room
}
