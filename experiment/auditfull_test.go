//go:build audit

package experiment

import "testing"

// The sizes of the specification: 10,000 observations in each world at epsilon 4 and 8, 20,000 at 1.
func TestStepIsTightFull(t *testing.T) { tight(t, 10000, 20000) }
