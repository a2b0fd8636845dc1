package audit

import (
	"testing"

	"sotto/agent"
)

// A node that sends what it was charged for, also twice, passes; one that sends two
// versions of a message, or a round without its charge, is caught, and so is one that
// charges nothing.
func TestWire(t *testing.T) {
	honest := func(w *Wire, charge func(round uint64) int) {
		for k := range uint64(10) {
			for to := range agent.ID(2) {
				w.Sent(1, to, k, []byte{byte(k), byte(to)})
				w.Sent(1, to, k, []byte{byte(k), byte(to)})
			}
			if n := charge(k); n > 0 {
				w.Charged(k, n)
			}
		}
	}
	all := func(uint64) int { return 2 }
	for name, c := range map[string]struct {
		charge func(round uint64) int
		more   func(w *Wire)
		bad    bool
	}{
		"honest":         {all, nil, false},
		"budget ended":   {func(k uint64) int { return map[bool]int{true: 2}[k < 4] }, nil, false},
		"more by crash":  {func(k uint64) int { return map[bool]int{true: 4, false: 2}[k == 3] }, nil, false},
		"two versions":   {all, func(w *Wire) { w.Sent(1, 0, 5, []byte{9}) }, true},
		"another kind":   {all, func(w *Wire) { w.Sent(2, 0, 5, []byte{9}) }, false},
		"a round free":   {func(k uint64) int { return map[bool]int{false: 2}[k == 3] }, nil, true},
		"half a round":   {func(k uint64) int { return map[bool]int{true: 1, false: 2}[k == 3] }, nil, true},
		"nothing at all": {func(uint64) int { return 0 }, nil, true},
	} {
		w := &Wire{Answers: 2}
		honest(w, c.charge)
		if c.more != nil {
			c.more(w)
		}
		if r := w.Report("node"); r.Violated != c.bad || r.Observations < 20 {
			t.Errorf("%s: violated %v, want %v: %+v", name, r.Violated, c.bad, r)
		}
	}
}
