package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sotto/internal/atomicfile"
)

func TestWriteReplacesOrLeaves(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, want := range []string{"first", "", "second"} {
		if err := atomicfile.Write(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%q, %v", b, err)
		}
	}
	taken := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(taken, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(taken, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "none", "a"), nil); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := atomicfile.Create(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(path, []byte("second"), 0o644); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was replaced: %v", err)
	}
	b, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || string(b) != "first" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v, %v", b, info, err, serr)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Files of writes that were killed go, all others stay.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	names := map[string]bool{"a": true, ".a": true, "a-1": true, ".a-": true, ".a-1b": true, ".a-12": false,
		"below/b": true, "below/.b.svg-7": false}
	for name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err = errors.Join(err, os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Clear(dir); err != nil {
		t.Fatal(err)
	}
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder's own name is no pattern.
func TestGlobBelowBrackets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b[1]*?")
	for _, name := range []string{"cells.csv", "cells-0-of-2.csv", "ledger/x/genesis.json"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"cells.csv": "cells.csv", "cells-*.csv": "cells-0-of-2.csv",
		"ledger/*/genesis.json": "ledger/x/genesis.json"} {
		got, err := atomicfile.Glob(dir, pattern)
		want := filepath.Join(dir, filepath.FromSlash(want))
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v, want %s", pattern, got, err, want)
		}
	}
	t.Chdir(dir)
	if got, err := atomicfile.Glob("", "*.csv"); err != nil || len(got) != 2 || got[1] != "cells.csv" {
		t.Errorf("of the working folder: %q, %v", got, err)
	}
	if got, err := atomicfile.Glob("nowhere", "*"); err != nil || len(got) != 0 {
		t.Errorf("of no folder: %q, %v", got, err)
	}
}
