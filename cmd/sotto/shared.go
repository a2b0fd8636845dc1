package main

import (
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

// writable tries to make a file below dir, or below the nearest folder that exists.
func writable(dir string) string {
	at := filepath.Clean(dir)
	for {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			break
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	f, err := os.CreateTemp(at, ".sotto-doctor-*")
	if err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	return dir + ", writable"
}
