// Package scratch has the temporary folders of tests lie in memory. Tests that crash
// ledgers at every write make thousands of small files, of which a disk takes some
// milliseconds each.
package scratch

import (
	"fmt"
	"os"
)

// A Runner runs the tests of a package, as *testing.M does.
type Runner interface{ Run() int }

// InMemory returns a Runner of the same tests with folders in memory, where the system
// has such a place with room, unless TMPDIR has chosen another.
func InMemory(tests Runner) Runner { return inMemory{tests} }

type inMemory struct{ tests Runner }

func (r inMemory) Run() int {
	if os.Getenv("TMPDIR") != "" || !roomy(memory) {
		return r.tests.Run()
	}
	dir, err := os.MkdirTemp(memory, "sotto-test-")
	if err != nil {
		return r.tests.Run()
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	os.Setenv("TMPDIR", dir)
	return r.tests.Run()
}
