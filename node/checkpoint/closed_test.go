package checkpoint

import (
	"errors"
	"io/fs"
	"testing"

	"sotto/privacy/ledger"
)

// A store that was closed wrote on over the state of whoever had opened the directory
// since.
func TestClosedStore(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s, err := Open(dir, ledger.OS{AllowVolatile: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open()
	if err := first.Save(&Checkpoint{Round: 1}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	next := open()
	defer next.Close()
	if err := next.Save(&Checkpoint{Round: 2}); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(&Checkpoint{Round: 7}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed store saves: %v", err)
	}
	if _, err := first.Load(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed store loads: %v", err)
	}
	if c, err := next.Load(); err != nil || c.Round != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}
