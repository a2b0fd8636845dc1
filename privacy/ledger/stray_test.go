package ledger_test

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sotto/config"
	"sotto/privacy/ledger"
)

// closedFS does not let one folder be looked into.
type closedFS struct {
	ledger.OS
	name string
}

func (c closedFS) List(dir string) ([]string, error) {
	if filepath.Base(dir) == c.name {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.EACCES}
	}
	return c.OS.List(dir)
}

// A file beside the ledgers stopped a node for good; a folder that nobody can look into
// ended it as what may be tried again.
func TestStrangersInAPolicyDirectory(t *testing.T) {
	dir := t.TempDir()
	p := table(t, "age\n64\n42\n", "")
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	fsys := closedFS{ledger.OS{AllowVolatile: true}, "lost+found"}
	o := ledger.Options{Key: key, FS: fsys}
	f, _, err := ledger.OpenFor(dir, p, population("clinic"), false, o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	find := func() error {
		found, err := ledger.Find(dir, p, population("clinic"), false, o)
		if err == nil && found.Match != ledger.ByRecords {
			t.Errorf("the ledger is not found: %+v", found)
		}
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := find(); err != nil {
		t.Errorf("beside a file: %v", err)
	}
	for _, name := range []string{"lost+found", "a link"} {
		at := filepath.Join(dir, name)
		if name == "a link" {
			err = os.Symlink("nowhere", at)
		} else {
			err = os.Mkdir(at, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		var bad *config.Error
		if err := find(); !errors.As(err, &bad) || bad.Key != "ledger" || !strings.Contains(bad.Found, name) {
			t.Errorf("beside %s: %v", name, err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
}
