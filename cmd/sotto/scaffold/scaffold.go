// Package scaffold writes commented starts: folders with a run file, what to do with it,
// and made-up records where records are needed. The files stand beside this one, one
// folder a kind, as they are written.
package scaffold

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sotto/config"
	"sotto/internal/atomicfile"
)

// Kinds are what Write can begin; the first is the simplest.
var Kinds = []string{"simulation", "table", "federation"}

//go:embed simulation table federation
var starts embed.FS

// Write makes dir, which may be there if it is empty, with the files of a kind, and
// returns their paths. Nothing is overwritten. An unknown kind, or a dir that is a file
// or is not empty, is a *config.Error.
func Write(dir, kind string) ([]string, error) {
	from, err := fs.Sub(starts, kind)
	if err == nil {
		_, err = fs.Stat(from, "run.toml")
	}
	if err != nil {
		return nil, config.Bad("kind", kind, "one of "+strings.Join(Kinds, ", "))
	}
	inside, err := os.ReadDir(dir)
	switch {
	case err == nil && len(inside) > 0:
		return nil, notNew(dir + " with " + inside[0].Name() + " in it")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		if info, e := os.Stat(dir); e == nil && !info.IsDir() {
			return nil, notNew(dir + ", a file")
		}
		return nil, err
	}
	var paths []string
	err = fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(path, 0o755))
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		paths = append(paths, path)
		return atomicfile.Create(path, b, 0o644)
	})
	return paths, err
}

func notNew(found string) error {
	return &config.Error{Key: "DIR", Found: found, Allowed: "a new or an empty folder"}
}
