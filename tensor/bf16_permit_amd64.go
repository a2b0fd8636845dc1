//go:build !linux

package tensor

// permitTiles: no other system is known to hand tiles to a process.
func permitTiles() bool { return false }
