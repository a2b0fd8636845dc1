//go:build audit

package audit

import "testing"

// A right system is called violated at most three times a mode in 200 runs: at beta 1e-3 four or more have a probability below 6e-5.
func TestNoFalseAlarmsFull(t *testing.T) { alarms(t, 200, 3) }
