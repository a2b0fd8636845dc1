package data

import (
	"errors"
	"os"
	"path/filepath"
)

// FileStatus is the result of checking one published file: Err is nil, or wraps
// [ErrMissing] or [ErrAltered].
type FileStatus struct {
	File
	Err error
}

// State is "ok", "missing" or "altered".
func (s FileStatus) State() string {
	switch {
	case s.Err == nil:
		return "ok"
	case errors.Is(s.Err, ErrMissing):
		return "missing"
	}
	return "altered"
}

// Verify compares every published file below dir with its size and SHA-256.
func Verify(dir string) []FileStatus {
	var all []FileStatus
	for _, f := range files {
		_, err := (&store{dir: dir}).read(f.Path)
		all = append(all, FileStatus{f, err})
	}
	return all
}

// Entry describes one data set for `sotto data list`.
type Entry struct {
	Name    string `json:"name"`
	Records string `json:"records"` // training and test records
	Shape   string `json:"shape"`
	Task    string `json:"task"`
	Terms   string `json:"terms"` // licence or conditions, as commonly stated
	Files   []File `json:"files,omitempty"`
	// Fetchable says that Fetch can download the data set.
	Fetchable bool `json:"fetchable"`
}

// Present reports whether all files of the data set exist below dir with the published
// sizes; it does not read them. Generators are always present.
func (e Entry) Present(dir string) bool {
	for _, f := range e.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() != f.Bytes {
			return false
		}
	}
	return true
}
