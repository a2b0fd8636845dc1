package node

import (
	"math/rand/v2"
	"testing"
	"time"
)

// What is told about the time of steps tells nothing of any one of them: it changes with
// the logarithm of their number, and one long step among many does not show.
func TestProgressHidesSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, 5000)
	for i := range took {
		took[i] = time.Duration(1e6 + r.Float64()*1e4)
	}
	var plain progress
	told, changes := time.Duration(0), 0
	for k, d := range took {
		plain.add(d, 1)
		if k < leastSteps-1 && plain.left(1e9) != 0 {
			t.Fatalf("after %d steps the node tells how long they take", k+1)
		}
		if plain.told != told {
			told = plain.told
			changes++
		}
	}
	if changes == 0 || changes > 9 || told != time.Millisecond {
		t.Errorf("%d values, the last %v, want at most 9 and 1ms", changes, told)
	}
	for at := range leastSteps {
		var other progress
		for k, d := range took[:100] {
			if k == at {
				d += 200 * time.Microsecond // a larger batch
			}
			other.add(d, 1)
			if k >= leastSteps-1 && other.told != time.Millisecond {
				t.Fatalf("a longer step %d shows after %d: %v", at, k+1, other.told)
			}
		}
	}
	if plain.left(3000) != 3 {
		t.Errorf("%v seconds left, want 3", plain.left(3000))
	}
}
