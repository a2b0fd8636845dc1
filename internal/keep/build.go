package keep

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/cpu"
)

// Build names this program and what its floating point depends on: programs of other code
// have another name. ok is false where it cannot be found out.
var Build = sync.OnceValues(func() (name string, ok bool) {
	path, err := os.Executable()
	if err != nil {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	id, ok := linked(f)
	if !ok {
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return "", false
		}
		id = h.Sum(nil)
	}
	name = runtime.GOOS + " " + runtime.GOARCH + " " + hex.EncodeToString(id)
	if cpu.X86.HasFMA { // package math asks the same
		name += " fma"
	}
	return name, true
})

// linked returns the build ID that the Go linker wrote, whose last part is a sum of the
// whole program. A program may be linked without.
func linked(r io.ReaderAt) (id []byte, ok bool) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, false
	}
	const least = 4 * sha256.Size / 3 // of base64 digits in an ID, about
	s := f.Section(".note.go.buildid")
	if s == nil || s.Size < least || s.Size > 1<<10 {
		return nil, false
	}
	id, err = s.Data()
	return id, err == nil
}
