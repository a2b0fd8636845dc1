package tensor

import "syscall"

//go:generate go run ./internal/gen .

// level is a set of kernels. A higher one needs a newer processor.
type level int

const (
	portable level = iota
	avx2
	avx512
)

var levelNames = [...]string{portable: "portable", avx2: "avx2", avx512: "avx512"}

// active is the set in use. It is chosen once, at start; only tests change it.
var active = choose(environment(), supported())

// environment reads SOTTO_CPU without package os: this package needs no way to files.
func environment() string {
	v, _ := syscall.Getenv("SOTTO_CPU")
	return v
}

// choose returns the set that name asks for, or the best one the machine has.
func choose(name string, best level) level {
	for l := portable; l <= best; l++ {
		if levelNames[l] == name {
			return l
		}
	}
	return best
}

// Kernels names the kernels in use: "avx512", "avx2" (with FMA) or "portable". The best
// set the machine has is chosen at start; the environment variable SOTTO_CPU forces one
// of the three. A name that is unknown, or that the machine lacks, is as if unset.
//
// avx512 and avx2 give the same bits. portable rounds every product before it is added,
// where the others use fused multiply-add, so its results differ in the last bits.
func Kernels() string { return levelNames[active] }
