package cli

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/config"
	"sotto/internal/atomicfile"
)

// Permissions of what commands write.
const (
	ForAll   fs.FileMode = 0o644
	ForOwner fs.FileMode = 0o600 // as private as the records it is made from
)

// WriteTo writes to the file of an --out flag as WriteFile does, or to standard output.
func WriteTo(cmd *cobra.Command, path string, b []byte, mode fs.FileMode, read ...string) error {
	if path == "" {
		_, err := cmd.OutOrStdout().Write(b)
		return err
	}
	return WriteFile(path, b, mode, read...)
}

// WriteFile writes the file of an --out flag whole or not at all. read are the files and
// folders that the command has read: it replaces none of them, and no file in them other
// than a page, which no command reads.
func WriteFile(path string, b []byte, mode fs.FileMode, read ...string) error {
	old, err := os.Stat(path)
	if err != nil {
		return atomicfile.WriteMode(path, b, mode)
	}
	if old.IsDir() {
		return &config.Error{File: path, Found: "a folder", Allowed: "a file"}
	}
	if !old.Mode().IsRegular() { // a device or a pipe is written, not replaced
		return os.WriteFile(path, b, mode)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	for _, r := range read {
		in, err := os.Stat(r)
		if err != nil {
			return err
		}
		switch {
		case os.SameFile(old, in):
			return config.Bad("--out", path, "a file that is not read: this one is "+r)
		case in.IsDir() && filepath.Ext(path) != ".html" && isBelow(path, in):
			return config.Bad("--out", path, "a new file, or one outside of "+r+", which is read")
		}
	}
	return atomicfile.WriteMode(path, b, mode)
}

// isBelow says whether a file lies in a folder, at any depth.
func isBelow(path string, folder fs.FileInfo) bool {
	at, err := filepath.Abs(path)
	for err == nil && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		if info, err := os.Stat(at); err == nil && os.SameFile(info, folder) {
			return true
		}
	}
	return false
}
