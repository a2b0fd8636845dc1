package keep_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/internal/keep"
)

// Whatever happens to a file, Read returns what was written or nothing.
func TestReadReturnsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "file")
	content := []byte("some content")
	if _, ok := keep.Read(path, "1", 100); ok {
		t.Fatal("read before it was written")
	}
	if err := keep.Write(path, "1", content); err != nil {
		t.Fatal(err)
	}
	if got, ok := keep.Read(path, "1", int64(len(content))); !ok || !bytes.Equal(got, content) {
		t.Fatalf("%q, %v", got, ok)
	}
	if _, ok := keep.Read(path, "1", int64(len(content)-1)); ok {
		t.Error("longer than allowed")
	}
	for _, version := range []string{"", "2", "11", "1s"} {
		if _, ok := keep.Read(path, version, 100); ok {
			t.Errorf("read as version %q", version)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := keep.Read(path, "1", 1000); ok {
			t.Errorf("%s: read as %q", what, got)
		}
	}
	for n := range whole {
		try("cut off", whole[:n])
		broken := bytes.Clone(whole)
		broken[n] ^= 1
		try("a bit changed", broken)
	}
	try("longer", append(bytes.Clone(whole), 0))
	try("foreign", []byte(strings.Repeat("foreign", 20)))
	if err := keep.Write(path, "1", content); err != nil {
		t.Fatal(err)
	}
	if got, ok := keep.Read(path, "1", 100); !ok || !bytes.Equal(got, content) {
		t.Errorf("written anew: %q, %v", got, ok)
	}
	if _, ok := keep.Read(filepath.Dir(path), "1", 1<<20); ok {
		t.Error("a folder was read")
	}
}

func TestDir(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Setenv("HOME", "/home")
	t.Setenv(keep.Variable, "")
	if dir, ok := keep.Dir(); !ok || filepath.Base(dir) != "sotto" {
		t.Errorf("%q, %v", dir, ok)
	}
	t.Setenv(keep.Variable, "/elsewhere")
	if dir, ok := keep.Dir(); !ok || dir != "/elsewhere" {
		t.Errorf("%q, %v", dir, ok)
	}
	t.Setenv(keep.Variable, "off")
	if dir, ok := keep.Dir(); ok {
		t.Errorf("off: %q", dir)
	}
}

// Two programs have two names.
func TestBuild(t *testing.T) {
	name, ok := keep.Build()
	if !ok || len(name) < 40 {
		t.Errorf("%q, %v", name, ok)
	}
}
