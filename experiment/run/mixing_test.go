package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
)

// Questions are not asked where averaging is too short for the answers of one owner to be
// everybody's, or where it is another than what was planned.
func TestAnswersAreEverybodys(t *testing.T) {
	for _, c := range []struct{ set, key, allowed string }{
		{"rounds=1 topology.graph=complete", "rounds", "at least 2 "},
		{"rounds=2 topology.graph=path topology.agents=3", "rounds", "at least "},
		{"rounds=20 topology.graph=ring topology.agents=30", "rounds", "at least "},
		{"topology.dropout=0.2 algorithm.acceleration=plain", "topology.dropout", "0 with algorithm query"},
		{"topology.wake=pair algorithm.acceleration=plain", "topology.wake", "nothing"},
		{"faults.drop=0.1", "faults", "none with algorithm query"},
	} {
		f, err := experiment.Parse("questions.toml", []byte(experimenttest.Questions), strings.Fields(c.set))
		if err == nil {
			_, err = f.Build("")
		}
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(fmt.Sprint(err), c.key) ||
			!strings.Contains(bad.Allowed, c.allowed) {
			t.Errorf("%s: %v, want an error of %s with %q", c.set, err, c.key, c.allowed)
		}
	}
	questions(t, "rounds=2", "topology.graph=complete")
	questions(t, "rounds=1", "topology.graph=complete", "topology.agents=1", "algorithm.acceleration=plain")
}
