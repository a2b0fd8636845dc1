package cli_test

import (
	"io/fs"
	"syscall"
	"testing"

	"sotto/cmd/sotto/cli"
)

// A folder that cannot be made is named with why and with what is allowed; what else a
// disk refuses keeps its own words.
func TestInWordsOfFolders(t *testing.T) {
	const allowed = ", allowed: a folder that is there, or a place where one may be made"
	for _, c := range []struct {
		path string
		err  syscall.Errno
		want string
	}{
		{"/srv/state", syscall.EACCES,
			"/srv/state: found no folder, and none can be made: permission denied" + allowed},
		{"/proc/x", syscall.ENOENT,
			"/proc/x: found no folder, and none can be made: no such file or directory" + allowed},
		{"/full", syscall.ENOSPC, "mkdir /full: no space left on device"},
	} {
		got := cli.InWords(&fs.PathError{Op: "mkdir", Path: c.path, Err: c.err})
		if got.Error() != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}
