package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"sotto/cmd/sotto/cli"
)

// A file is replaced whole, not written in place, where a full disk would leave a part of
// the new one and nothing of the old.
func TestWriteFileReplaces(t *testing.T) {
	dir := t.TempDir()
	path, old, link := filepath.Join(dir, "out.csv"), filepath.Join(dir, "old"), filepath.Join(dir, "link")
	if err := cli.WriteFile(path, []byte("old"), cli.ForAll); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := cli.WriteFile(link, []byte("new"), cli.ForOwner); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{path: "new", old: "old", link: "new"} {
		if b, err := os.ReadFile(at); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", at, b, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}
