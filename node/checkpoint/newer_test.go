package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/privacy/ledger"
)

// After a step back from a newer program the state of the round before was loaded without
// a word: the newer file was taken for damaged.
func TestNewerFormatIsNamed(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, ledger.OS{AllowVolatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range uint64(3) {
		if err := s.Save(&Checkpoint{Round: round, State: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	path := s.slot(s.serial)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body := b[8 : 8+binary.LittleEndian.Uint64(b)-sha256.Size]
	copy(body, bytes.Replace(body, []byte(checkTag), []byte("sotto node/6"), 1))
	sum := sha256.Sum256(body)
	copy(b[8+len(body):], sum[:])
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := s.Load()
	if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "sotto node/6") ||
		!strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("a newer file: %+v, %v", c, err)
	}
	// A backup was made of the round before.
	if snap, err := Take(dir); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "sotto node/6") {
		t.Errorf("a snapshot of a newer file: %+v, %v", snap, err)
	}
	b[8+len(body)]++ // damaged
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Load(); err != nil || c.Round != 1 {
		t.Errorf("a damaged file: %+v, %v", c, err)
	}
}
