package rundir

import (
	"math"
	"testing"
)

// What an adversary with the optimal test achieves against randomised response, whose
// epsilon is exact: it answers truly with probability e^eps/(1+e^eps).
func TestGuessIsReachedByRandomisedResponse(t *testing.T) {
	for _, tt := range []struct{ epsilon, percent float64 }{
		{math.Log(3), 75}, {math.Log(9), 90}, {0, 50}, {math.Log(99), 99},
	} {
		if got := 100 * Guess(tt.epsilon, 0); math.Abs(got-tt.percent) > 1e-9 {
			t.Errorf("epsilon %g: %g %%, want %g", tt.epsilon, got, tt.percent)
		}
	}
	// With probability delta the secret is told, else nothing: right with (1+delta)/2.
	if got := Guess(0, .1); math.Abs(got-.55) > 1e-12 {
		t.Errorf("delta .1 alone: %g, want .55", got)
	}
	if got := Guess(800, .5); got != 1 {
		t.Errorf("epsilon 800: %g, want 1", got)
	}
}

func TestRoundedUpIsNeverBelow(t *testing.T) {
	for _, tt := range []struct {
		percent float64
		want    string
	}{{73.1, "74"}, {50, "50"}, {99.0001, "99.001"}, {99.99999, "100"}, {100, "100"}} {
		if got := roundedUp(tt.percent); got != tt.want {
			t.Errorf("%v %%: %s, want %s", tt.percent, got, tt.want)
		}
	}
}
