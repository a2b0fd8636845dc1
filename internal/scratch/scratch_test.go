package scratch_test

import (
	"os"
	"testing"

	"sotto/internal/scratch"
)

type tests func() int

func (f tests) Run() int { return f() }

// The tests run once and their result is returned; their folder is empty when they begin,
// and gone when they have ended, whatever they have left there.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	var dir string
	if code := scratch.InMemory(tests(func() int {
		if dir = os.Getenv("TMPDIR"); dir == "" {
			return 3 // a system without such a place
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
		if err := os.WriteFile(dir+"/left", nil, 0o600); err != nil {
			t.Error(err)
		}
		return 3
	})).Run(); code != 3 {
		t.Errorf("result %d, want 3", code)
	}
	if _, err := os.Stat(dir); dir != "" && !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Whoever has chosen a place keeps it.
func TestChosenPlace(t *testing.T) {
	own := t.TempDir()
	t.Setenv("TMPDIR", own)
	scratch.InMemory(tests(func() int {
		if os.Getenv("TMPDIR") != own {
			t.Error("another place")
		}
		return 0
	})).Run()
}
