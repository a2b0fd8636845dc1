package exposure

import (
	"testing"

	"sotto/experiment/rundir"
	"sotto/topology"
)

// Pairs that are looked at stand for all others: on the hypercube one at each distance,
// on a ring two observers with six agents each.
func TestPairsOfAWalk(t *testing.T) {
	for graph, want := range map[string]struct {
		pairs int
		stand float64 // for so many agents, of the first observer
	}{"hypercube": {4, 15}, "ring": {12, 6}, "complete": {1, 15}} {
		schedule, err := topology.New(graph, "", 16, 1, func(any) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		g, err := schedule.At(0)
		if err != nil {
			t.Fatal(err)
		}
		s := &walkSurvey{WalkFigures: &rundir.WalkFigures{}}
		s.examine(g)
		sum := 0.
		for _, times := range s.times[0] {
			sum += times
		}
		if len(s.pairs) != want.pairs || sum != want.stand {
			t.Errorf("%s: %d pairs that stand for %v agents, want %d and %v", graph, len(s.pairs), sum,
				want.pairs, want.stand)
		}
	}
}
