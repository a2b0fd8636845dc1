//go:build !operator

package calculator

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is what a command has written, also from a timer.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// A question that takes its time says so on standard error, a quick one does not.
func TestPatience(t *testing.T) {
	defer func(d time.Duration) { silence = d }(silence)
	ask := func(patience time.Duration) string {
		silence = patience
		c, out := New(), new(heard)
		c.SetErr(out)
		c.SetOut(new(heard))
		c.SetArgs([]string{"rate", "--noise-multiplier", ".5", "--steps", "1000"})
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := ask(time.Millisecond), "note: account rate is still computing\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if got := ask(time.Hour); got != "" {
		t.Errorf("said %q", got)
	}
}
