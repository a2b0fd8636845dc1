package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sotto/privacy/ledger"
)

// RestoredFile marks a state directory that was restored from a backup: JSON as
// [Restored] has it. The node that finds it has to ask its neighbors how far they have
// seen it before it answers, and removes it then.
const RestoredFile = "restored"

// Restored is what stands in RestoredFile.
type Restored struct {
	Restored bool   `json:"restored"` // true
	HeadSeq  uint64 `json:"head_seq"` // last record of the ledger that the stored state knows of
	Round    uint64 `json:"round"`    // of the stored state
}

// Snapshot is the stored state of a node, at one moment.
type Snapshot struct {
	Files  map[string][]byte // by name: what is there of checkpoint and checkpoint.2
	Run    [32]byte
	Round  uint64
	Head   ledger.Head
	serial uint64
}

// Newer reports whether s was stored after t.
func (s *Snapshot) Newer(t *Snapshot) bool { return s.serial > t.serial }

// Take reads the stored state while a node may be writing it. fs.ErrNotExist:
// there is none. ErrState: none of it is whole, or one of the files is of a newer format.
func Take(dir string) (*Snapshot, error) {
	const tries = 200
	for try := 1; ; try++ {
		s, settled, err := readSnapshot(dir)
		if settled || try == tries {
			return s, err
		}
		time.Sleep(5 * time.Millisecond) // the node writes one of the files at a time
	}
}

// readSnapshot reads both files. settled: they are whole and follow each other, or there
// is at most one.
func readSnapshot(dir string) (s *Snapshot, settled bool, err error) {
	s = &Snapshot{Files: map[string][]byte{}}
	settled = true
	var serials []uint64
	for _, name := range stateFiles {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		s.Files[name] = b
		c, err := decodeFile(name, b)
		if errors.Is(err, errNewer) { // as Load refuses it
			return nil, true, fmt.Errorf("%s: %w", dir, err)
		}
		if err != nil {
			settled = false
			continue
		}
		serials = append(serials, c.serial)
		if c.serial > s.serial {
			s.Run, s.Round, s.Head, s.serial = c.Run, c.Round, c.Head, c.serial
		}
	}
	switch {
	case len(s.Files) == 0:
		return nil, true, fmt.Errorf("%s: no stored state: %w", dir, fs.ErrNotExist)
	case len(serials) == 0:
		return nil, false, fmt.Errorf("%w: %s: no file of it is whole; sotto node restore puts a backup back",
			ErrState, dir)
	case len(serials) == 2 && max(serials[0], serials[1])-min(serials[0], serials[1]) != 1:
		settled = false
	}
	return s, settled, nil
}
