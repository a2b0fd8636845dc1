package ledger

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// volatileKinds are file systems that keep nothing over a power loss, or whose sync and
// locks are up to others.
var volatileKinds = map[int64]string{
	unix.TMPFS_MAGIC:       "tmpfs",
	unix.RAMFS_MAGIC:       "ramfs",
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC:  "CIFS",
	unix.V9FS_MAGIC:        "9P",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	unix.CEPH_SUPER_MAGIC:  "Ceph",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
}

func fileSystem(dir string) (kind string, volatile bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, fmt.Errorf("ledger: %s: %w", dir, err)
	}
	kind, volatile = volatileKinds[int64(uint32(st.Type))]
	return kind, volatile, nil
}

func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
