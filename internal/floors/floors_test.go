package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPictureIsOfToday(t *testing.T) {
	root := filepath.Join("..", "..")
	now, err := draw()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, committed) {
		t.Errorf("%s shows other imports: go run ./internal/floors", file)
	}
}

// No two boxes of a floor overlap, and what follows from other imports is not drawn.
func TestArrange(t *testing.T) {
	h := newHouse([][]string{{"a", "b"}, {"c"}, {"d", "e"}}, map[string][]string{
		"c": {"a"}, "d": {"a", "b", "c"}, "e": {"c"},
	})
	h.arrange()
	for k, row := range h.floors {
		for i := 1; i < len(row); i++ {
			if l, r := row[i-1], row[i]; l.x+l.width/2 > r.x-r.width/2 {
				t.Errorf("floor %d: %q and %q overlap", k, l.name, r.name)
			}
		}
	}
	if passing := len(h.floors[1]) - 1; passing != 1 {
		t.Errorf("%d imports pass floor 1, want only d's of b", passing)
	}
}
