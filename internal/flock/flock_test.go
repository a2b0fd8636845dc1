package flock_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"sotto/internal/flock"
)

const holderDir = "SOTTO_TEST_FLOCK"

// TestMain is also the process that holds a lock until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv(holderDir)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := flock.Take(path); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("taken\n")
	io.ReadAll(os.Stdin) // until it is killed
}

func take(t *testing.T, path string) *flock.Lock {
	t.Helper()
	l, err := flock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// files are the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func TestTake(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.csv")
	l := take(t, path)
	var busy *flock.Busy
	if _, err := flock.Take(path); !errors.As(err, &busy) || busy.Path != path {
		t.Errorf("%v, want Busy of %s", err, path)
	}
	other := take(t, filepath.Join(dir, "other.csv"))
	for range 2 {
		if err := errors.Join(l.Release(), other.Release()); err != nil {
			t.Error(err)
		}
	}
	if left := files(t, dir); left != nil {
		t.Errorf("%q are left", left)
	}
	l = take(t, path)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("without its directory: %v", err)
	}
	if _, err := flock.Take(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// A process that is killed holds nothing, though its file is there.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.csv")
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderDir+"="+path)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "taken\n" {
		t.Fatalf("%q, %v", line, err)
	}
	var busy *flock.Busy
	if _, err := flock.Take(path); !errors.As(err, &busy) {
		t.Errorf("%v, want Busy", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	if len(files(t, dir)) != 1 {
		t.Error("the killed process left no file: this test sees nothing")
	}
	if err := take(t, path).Release(); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); left != nil {
		t.Errorf("%q are left", left)
	}
}

// However takers and releases meet, one works at a time.
func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	var at, most, taken atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				l, err := flock.Take(path)
				if busy := new(flock.Busy); errors.As(err, &busy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				if n := at.Add(1); n > most.Load() {
					most.Store(n)
				}
				at.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || taken.Load() < 2 {
		t.Errorf("%d at a time, %d in all", most.Load(), taken.Load())
	}
}
