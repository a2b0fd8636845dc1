package meter

import (
	"math/rand/v2"
	"testing"
	"time"
)

// What is told about the time of steps tells nothing of any one of them: it changes with
// the logarithm of their number, and one long step among many does not show.
func TestStepsAreHidden(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, 5000)
	for i := range took {
		took[i] = time.Duration(1e6 + r.Float64()*1e4)
	}
	var plain Steps
	told, changes := time.Duration(0), 0
	for k, d := range took {
		plain.Add(d, 1)
		if k < leastSteps-1 && plain.Left(1e9) != 0 {
			t.Fatalf("after %d steps the node tells how long they take", k+1)
		}
		if plain.Told != told {
			told = plain.Told
			changes++
		}
	}
	if changes == 0 || changes > 9 || told != time.Millisecond {
		t.Errorf("%d values, the last %v, want at most 9 and 1ms", changes, told)
	}
	for at := range leastSteps {
		var other Steps
		for k, d := range took[:100] {
			if k == at {
				d += 200 * time.Microsecond // a larger batch
			}
			other.Add(d, 1)
			if k >= leastSteps-1 && other.Told != time.Millisecond {
				t.Fatalf("a longer step %d shows after %d: %v", at, k+1, other.Told)
			}
		}
	}
	if plain.Left(3000) != 3*time.Second {
		t.Errorf("%v left, want 3s", plain.Left(3000))
	}
}
