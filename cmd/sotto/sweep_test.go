//go:build !operator

package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/experiment/tune"
)

// What is printed of an epsilon is no less than it is: 3.800307 and 1.00001 are 3.8004
// and 1.001 in a search, and 1.00001 is 1.001 in a sweep.
func TestEpsilonsAreRoundedUp(t *testing.T) {
	chosen := rundir.NewBounds(0, 3.800307)
	best := tune.Trial{Values: []string{"1"}, Accuracy: math.NaN(), Loss: math.NaN(), Epsilon: 1.00001}
	var b bytes.Buffer
	if err := writeTuning(&b, &tune.Result{Cost: "charged", Best: &best, Keys: []string{"rounds"},
		Rows: []tune.Trial{best}, Spent: []tune.Cost{{Chosen: &chosen, Delta: 1e-5}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"epsilon, selection 3.8004 at delta 1e-05", "1.001\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if got := atMost(sweep.Row{EpsilonUpper: 1.00001}.EpsilonUpper); got != "1.001" {
		t.Errorf("a cell has epsilon %s", got)
	}
}
