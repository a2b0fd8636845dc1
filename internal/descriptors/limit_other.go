//go:build !unix

package descriptors

func limit() (int, bool) { return 0, false }
