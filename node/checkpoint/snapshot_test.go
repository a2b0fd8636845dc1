package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/privacy/ledger"
)

// A copy of checkpoints that a node is writing was of two moments, or of half a file.
func TestSnapshotWhileStoring(t *testing.T) {
	dir := t.TempDir()
	if _, err := Take(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an empty directory: %v", err)
	}
	s, err := Open(dir, ledger.OS{AllowVolatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	save := func(round uint64) {
		c := &Checkpoint{Round: round, State: make([]byte, 1<<16), Head: ledger.Head{Seq: round}}
		if err := s.Save(c); err != nil {
			t.Error(err)
		}
	}
	save(1)
	save(2)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for round := uint64(3); ; round++ {
			select {
			case <-stop:
				return
			default:
				save(round)
			}
		}
	}()
	last := uint64(0)
	for range 50 {
		snap, err := Take(dir)
		if err != nil {
			t.Fatal(err)
		}
		copied := t.TempDir()
		for name, b := range snap.Files {
			if err := os.WriteFile(filepath.Join(copied, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := decodeFile(name, b); err != nil {
				t.Error(err)
			}
		}
		to := &Store{dir: copied, fs: ledger.OS{}}
		c, err := to.Load()
		if err != nil || c.Round != snap.Round || snap.Head.Seq != snap.Round || snap.Round < last ||
			len(snap.Files) != 2 {
			t.Fatalf("snapshot of round %d holds %+v, %v", snap.Round, c, err)
		}
		last = snap.Round
	}
	close(stop)
	<-done
	for _, name := range stateFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Take(dir); !errors.Is(err, ErrState) ||
		!strings.Contains(err.Error(), "sotto node restore") {
		t.Errorf("of damaged files: %v", err)
	}
}
