package sweep

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"sotto/internal/flock"
)

// A second process in a sweep's directory is refused and harms nothing.
func TestTwoAtOneSweep(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir()})
	out, asked := t.TempDir(), 0
	_, got := sweepTo(t, tiny(t), Options{Out: out, Progress: func(Progress) {
		asked++
		var busy *flock.Busy
		if _, err := tiny(t).Run(context.Background(), Options{Out: out}); !errors.As(err, &busy) {
			t.Errorf("a second process: %v", err)
		}
	}})
	if asked != 8 || !bytes.Equal(got, want) {
		t.Errorf("after %d second processes the sweep has other rows", asked)
	}
}
