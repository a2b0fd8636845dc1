// Package descriptors says how many file descriptors this process may still open. The Go
// runtime raises the soft limit to the hard one when a program starts, so that the limit
// here is the hard one wherever the system allows that.
package descriptors

import "os"

const (
	// HTTP is how many descriptors are kept for the connections of a node's own HTTP
	// server.
	HTTP = 16
	// Page is how many are kept for the connections of a node's live page.
	Page = 16
	// files is how many are kept for ledger, checkpoint, status and the files of a
	// result.
	files = 16
	// guess stands in for the number of open descriptors where the system does not list
	// them.
	guess = 16
)

// Reserve is how many descriptors are kept from connections with other members.
const Reserve = HTTP + Page + files

// Limit returns how many descriptors this process may have open. known is false where the
// system has no such limit, or does not tell it.
func Limit() (n int, known bool) { return limit() }

// InUse returns how many descriptors are open now, or a guess where nobody can tell.
func InUse() int {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if list, err := os.ReadDir(dir); err == nil {
			return len(list)
		}
	}
	return guess
}
