//go:build linux || darwin

package ledger

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes whoever runs this may still write to the file system of
// dir.
func (OS) Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ledger: %s: %w", dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}
