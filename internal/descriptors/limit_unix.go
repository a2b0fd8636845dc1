//go:build unix

package descriptors

import (
	"math"
	"syscall"
)

func limit() (int, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return int(min(uint64(r.Cur), math.MaxInt32)), true
}
