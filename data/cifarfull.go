package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// fullCIFAR100Files are the parts of the binary version of CIFAR-100, in the order of
// records that sortedSum sums.
var fullCIFAR100Files = [2]File{
	{"cifar-100", "train.bin", 153_700_000,
		"ff400af27a149d456a38c1612e8fa6ce1f3f5ea6fd117021b04a0f6ea1dfc0b4", nil, ""},
	{"cifar-100", "test.bin", 30_740_000,
		"e1ecae9c9ac502e54f6416a9a80cb7f52ec5272c09852d6109e6e2db0ddaf400", nil, ""},
}

// fullCIFAR100 reads a part of the full CIFAR-100 from folder, which may be below the
// data folder. Copies have their records in different orders, so that what is compared is
// the SHA-256 of the sorted records. The file's own goes into the digest.
func (s *store) fullCIFAR100(folder string, part int) (*Images, error) {
	f := fullCIFAR100Files[part]
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(s.dir, filepath.FromSlash(folder))
	}
	at := filepath.Join(folder, f.Path)
	b, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s (full names a folder with train.bin and test.bin of "+
			"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz)", ErrMissing, at)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	sum := hexSum(b)
	if !s.any && sum != f.SHA256 {
		if sorted := sortedSum(b, 2+cifarPixels); sorted != f.SHA256 {
			return nil, fmt.Errorf("%w, its records sorted", altered(f, at, int64(len(b)), sorted))
		}
	}
	s.sums = append(s.sums, sum)
	return ReadCIFAR100(bytes.NewReader(b), at)
}

// sortedSum is the SHA-256, in hex, of records of size bytes in ascending order of their
// own SHA-256; a rest that is no record counts as one.
func sortedSum(b []byte, size int) string {
	type record struct {
		sum   [sha256.Size]byte
		bytes []byte
	}
	var records []record
	for r := range slices.Chunk(b, size) {
		records = append(records, record{sha256.Sum256(r), r})
	}
	slices.SortFunc(records, func(a, b record) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	h := sha256.New()
	for _, r := range records {
		h.Write(r.bytes)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
