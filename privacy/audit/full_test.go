//go:build audit

package audit

import (
	"context"
	"testing"

	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
)

// A right system is called violated at most three times a mode in 200 runs: at beta 1e-3
// four or more have a probability below 6e-5.
func TestNoFalseAlarmsFull(t *testing.T) { alarms(t, 200, 3) }

// The same of the modes for pairs and whole runs, on systems as bad as they claim to be:
// what is claimed of the pair is the exact leak, and of the run the epsilon of the very
// mu that scores have.
func TestNoFalseAlarmsAtTheClaim(t *testing.T) {
	a := averaging(t, "ring", 8, 2, 1, nil)
	whole := gaussianRuns(1, 1)
	whole.Claim.Total = gdp.Epsilon(1, whole.Claim.Delta)
	for name, mode := range map[string]func(o Options) (bool, error){
		"pairwise": func(o Options) (bool, error) {
			o.Observations = 300
			r, err := a.AttackPair(context.Background(), PairwiseOptions{
				Options:   o,
				Adversary: network.Observer(0),
				Target:    2,
				Delta:     1e-5,
				Claim:     Claimed{"the exact leak", 2},
			})
			return err == nil && r.Violated, err
		},
		"runs": func(o Options) (bool, error) {
			o.Observations = 1000
			r, err := whole.Runs(context.Background(), o)
			return err == nil && r.Violated, err
		},
		"onerun": func(o Options) (bool, error) {
			o.Observations = 1000
			r, err := whole.OneRun(context.Background(), o)
			return err == nil && r.Violated, err
		},
	} {
		n := 0
		for k := range uint64(200) {
			violated, err := mode(Options{Beta: smokeBeta, Seed: 100 + k})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if violated {
				n++
			}
		}
		t.Logf("%s: %d alarms in 200 runs", name, n)
		if n > 3 {
			t.Errorf("%s: %d alarms in 200 runs of a right system, allowed 3", name, n)
		}
	}
}
