// Package lists holds tests of what must stay the same while packages move: strings that
// random streams and signatures are derived from, and names that users have written down.
//
// After a change that is meant, make the golden files again:
//
//	go test ./internal/lists -update
package lists

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/internal/source"
)

var update = flag.Bool("update", false, "write the golden files")

func module(t *testing.T) *source.Files {
	t.Helper()
	files, err := source.Read(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// golden returns the lines of a golden file, which it first writes with -update.
func golden(t *testing.T, name string, now []string) []string {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// set sorts lines and drops what is there twice.
func set(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// checkSame says which lines were lost and which are new.
func checkSame(t *testing.T, name, what string, now []string) {
	t.Helper()
	checkKept(t, name, what, now)
	was := golden(t, name, now)
	for _, line := range now {
		if !slices.Contains(was, line) {
			t.Errorf("%s: new: %s", what, line)
		}
	}
}

// checkKept says which lines were lost. More of them are no fault.
func checkKept(t *testing.T, name, what string, now []string) {
	t.Helper()
	was := golden(t, name, now)
	if len(was) < 3 {
		t.Errorf("%s: testdata/%s has %d lines", what, name, len(was))
	}
	for _, line := range was {
		if !slices.Contains(now, line) {
			t.Errorf("%s: lost or changed: %s", what, line)
		}
	}
}
