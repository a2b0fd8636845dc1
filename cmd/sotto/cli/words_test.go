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
	for err, want := range map[error]string{
		&fs.PathError{Op: "mkdir", Path: "/srv/state", Err: syscall.EACCES}: "/srv/state: found no folder, and " +
			"none can be made: permission denied, allowed: a folder that is there, or a place where one may be made",
		&fs.PathError{Op: "mkdir", Path: "/proc/x", Err: syscall.ENOENT}: "/proc/x: found no folder, and none " +
			"can be made: no such file or directory, allowed: a folder that is there, or a place where one may " +
			"be made",
		&fs.PathError{Op: "mkdir", Path: "/full", Err: syscall.ENOSPC}: "mkdir /full: no space left on device",
	} {
		if got := cli.InWords(err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
