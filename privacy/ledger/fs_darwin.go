package ledger

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func fileSystem(dir string) (kind string, volatile bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, fmt.Errorf("ledger: %s: %w", dir, err)
	}
	return unix.ByteSliceToString(st.Fstypename[:]), st.Flags&unix.MNT_LOCAL == 0, nil
}

// syncData relies on os.File.Sync, which asks for F_FULLFSYNC here: fsync alone leaves
// data in the drive's cache.
func syncData(f *os.File) error { return f.Sync() }

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "unknown"
	}
	return id
}
