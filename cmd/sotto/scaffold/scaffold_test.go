package scaffold_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sotto/cmd/sotto/scaffold"
	"sotto/config"
)

// Each key of each file is explained on its own line, and nothing else is in the folders.
func TestEveryKeyIsExplained(t *testing.T) {
	key := regexp.MustCompile(`^(\[.*\]|[a-z_]+ = )`)
	for _, kind := range scaffold.Kinds {
		dir := filepath.Join(t.TempDir(), "deep", kind)
		paths, err := scaffold.Write(dir, kind)
		if err != nil {
			t.Fatal(err)
		}
		keys := 0
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for n, line := range strings.Split(string(b), "\n") {
				if !strings.HasSuffix(path, ".toml") || !key.MatchString(line) ||
					regexp.MustCompile(`^\[[a-z]+\]$`).MatchString(line) {
					continue
				}
				keys++
				if _, what, _ := strings.Cut(line, " # "); len(strings.Fields(what)) < 2 {
					t.Errorf("%s:%d: a key without a word: %s", path, n+1, line)
				}
			}
		}
		if keys < 15 {
			t.Errorf("%s: %d keys", kind, keys)
		}
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.Write(filepath.Join(dir, "empty"), "table"); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	for _, at := range []string{dir, file, filepath.Join(dir, "empty")} {
		if _, err := scaffold.Write(at, "simulation"); !errors.As(err, &bad) || bad.Key != "DIR" {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, kind := range []string{"", ".", "..", "tabel", "federation/north", "scaffold.go"} {
		at := filepath.Join(dir, "other")
		if _, err := scaffold.Write(at, kind); !errors.As(err, &bad) || bad.Key != "kind" {
			t.Errorf("kind %q: %v", kind, err)
		}
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("kind %q leaves a folder", kind)
		}
	}
	if b, _ := os.ReadFile(file); string(b) != "mine" {
		t.Error("a file was written over")
	}
}
