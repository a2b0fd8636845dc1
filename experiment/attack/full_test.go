//go:build audit

package attack

import (
	"context"
	"testing"

	"sotto/privacy/audit"
)

// The sizes of the specification: 10,000 observations in each world at epsilon 4 and 8,
// 20,000 at 1.
func TestStepIsTightFull(t *testing.T) { tight(t, 10000, 20000) }

// Whole runs without a fault are called violated at most three times in 200 audits of
// each mode: at beta 1e-3 four or more have a probability below 6e-5. The claim is
// experimenttest.Small, so that few right guesses would be too many.
func TestNoFalseAlarmsOfWholeRuns(t *testing.T) {
	e, err := glyphRun("data.train=40", "rounds=3", "model.hidden=[2]", "evaluate.every=3",
		"privacy.target_epsilon=0.1")()
	if err != nil {
		t.Fatal(err)
	}
	target, err := Target(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		name string
		mode func(*audit.Target, context.Context, audit.Options) (*audit.Report, error)
		n    int
	}{{"runs", (*audit.Target).Runs, 20}, {"onerun", (*audit.Target).OneRun, 100}} {
		alarms := 0
		for k := range uint64(200) {
			r, err := m.mode(target, context.Background(),
				audit.Options{Observations: m.n, Beta: 1e-3, Seed: 100 + k})
			if err != nil {
				t.Fatal(err)
			}
			if r.Violated {
				alarms++
			}
		}
		t.Logf("%s: %d alarms in 200 audits", m.name, alarms)
		if alarms > 3 {
			t.Errorf("%s: %d alarms in 200 audits of a right run, allowed 3", m.name, alarms)
		}
	}
}
