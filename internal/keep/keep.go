// Package keep has files that save work and may be deleted at any time: results of long
// computations, parsed data sets. A file that is damaged, cut off, or of another version
// is as if it were not there, and is written anew.
package keep

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"sotto/internal/atomicfile"
)

// Variable is the environment variable that names the folder; "off" keeps nothing.
const Variable = "SOTTO_CACHE"

const magic = "sotto keeps 1\n"

// Dir is the folder, which need not be there: that of [Variable], or sotto in the user's
// folder for caches. ok is false where nothing is to be kept.
func Dir() (dir string, ok bool) {
	switch v := os.Getenv(Variable); v {
	case "off":
		return "", false
	case "":
		base, err := os.UserCacheDir()
		return filepath.Join(base, "sotto"), err == nil
	default:
		return v, true
	}
}

// Read returns what Write wrote to path for the same version, if it is whole and of at
// most limit bytes. version is to hold all that the content depends on besides its name.
func Read(path, version string, limit int64) (content []byte, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	head := header(version)
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit+int64(len(head)+sha256.Size) {
		return nil, false
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil || len(b) < len(head)+sha256.Size ||
		!bytes.HasPrefix(b, head) {
		return nil, false
	}
	end := len(b) - sha256.Size
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return nil, false
	}
	return b[len(head):end], true
}

// Write replaces path, so that a crash leaves the old file or the new one. The folder is
// made where it is not there.
func Write(path, version string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	b := append(header(version), content...)
	sum := sha256.Sum256(b)
	return atomicfile.Write(path, append(b, sum[:]...))
}

func header(version string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(version)))
	return append(b, version...)
}
