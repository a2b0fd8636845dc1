package golden

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var updateFixtures = flag.Bool("update-fixtures", false, "make the checkpoints that are missing")

// copyTree copies a folder. What is copied is readable by its owner alone, as keys and
// ledgers have to be.
func copyTree(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckpoints goes on with runs that an earlier program has left in the middle, and
// compares them with those that were never cut. A checkpoint is of one kind of kernels:
// these are of the portable ones, which every machine has.
func TestCheckpoints(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("a checkpoint is of one architecture: these are of amd64")
	}
	cases, err := readCases("testdata/runs.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := openGolden("portable.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := &cases[i]
		if !c.has("kept") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := driver{dir: prepare(t, c), workers: "2", kernels: "portable"}
			kept := filepath.Join("testdata", "checkpoints", c.name)
			if _, err := os.Stat(kept); err != nil && *updateFixtures {
				partial, err := d.cut("run.toml", "cut")
				if err != nil {
					t.Fatal(err)
				}
				copyTree(t, filepath.Join(kept, filepath.Base(partial)), filepath.Join(d.dir, partial))
			}
			copyTree(t, filepath.Join(d.dir, "kept"), kept)
			partial, err := d.only("kept", "*.partial")
			if err != nil {
				t.Fatal(err)
			}
			dir, err := d.resume(partial, "kept")
			if err != nil {
				t.Fatal(err)
			}
			l, err := readRun(filepath.Join(d.dir, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range golden.compare(c.name, l.figures()) {
				t.Error("an old checkpoint of " + strings.TrimSpace(bad))
			}
		})
	}
}
