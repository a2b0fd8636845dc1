package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sotto/experiment/figurecache"
)

// rememberFigures runs a simulation or its plan with the figures of those before. What is
// run must state no guarantee: see figurecache.
func rememberFigures(simulate func() error) error {
	c := figurecache.Open()
	err := simulate()
	_ = c.Save() // it saves time the next time, and nothing depends on it
	return err
}

func okay(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return "FAULT: " + no
}

// nearest is dir, or the nearest folder above that exists.
func nearest(dir string) string {
	at := filepath.Clean(dir)
	for {
		if info, err := os.Stat(at); err == nil && info.IsDir() || at == filepath.Dir(at) {
			return at
		}
		at = filepath.Dir(at)
	}
}

// trial is how many bytes writable writes.
const trial = 16 << 10

// writable writes a file below dir, or below the nearest folder that exists: on a full
// disk an empty one can still be made.
func writable(dir string) string {
	f, err := os.CreateTemp(nearest(dir), ".sotto-doctor-*")
	if err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	_, err = f.Write(bytes.Repeat([]byte("sotto"), trial/5))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	return dir + ", writable"
}
