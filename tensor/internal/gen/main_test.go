package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCheckedInFiles: the files in the package are what the generator writes.
func TestCheckedInFiles(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./tensor", name)
		}
	}
}
