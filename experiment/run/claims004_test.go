package run

import (
	"fmt"
	"testing"

	"sotto/experiment/rundir"
)

// TestClaim46: the public code's five trials draw one graph and one noise from one seed,
// so that they are one trial: the spread over them is 0 whatever the method does. Here
// trials are seeds; equal ones are the same run, bit for bit, and others have other
// graphs, noise and results.
func TestClaim46(t *testing.T) {
	trial := func(seed int) rundir.Summary {
		return train(t, averages(t, fmt.Sprintf("seed=%d", seed), "rounds=6", `topology.graph="er"`,
			"topology.p=0.5"), Options{Workers: 1}).Summary
	}
	first := trial(1)
	for range 4 {
		if again := trial(1); again.RunHash != first.RunHash || again.Topology != first.Topology {
			t.Errorf("one seed, two results: %s and %s", first.RunHash, again.RunHash)
		}
	}
	hashes, links := map[string]bool{}, map[int]bool{}
	for seed := range 5 {
		s := trial(seed + 1)
		hashes[s.RunHash] = true
		links[s.Topology.Links] = true
	}
	if len(hashes) != 5 || len(links) < 2 {
		t.Errorf("five seeds have %d results on graphs with %d different numbers of links", len(hashes),
			len(links))
	}
}
