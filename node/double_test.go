package node_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Two faults after a change: a member loses its state, and a neighbor is restored to
// before the change. Both learn from others where they were. (Where that neighbor alone
// has heard the member, and both are gone at once, nobody knows: it ends as ErrBehind.)
func TestTwoFaultsAfterAChange(t *testing.T) {
	t.Parallel()
	for _, graph := range []string{"complete", "path", "star"} {
		for _, copied := range []uint64{4, 15} { // before and after the neighbor had the amendment
			for _, loses := range []uint64{20, 25, 30, 31} {
				if loses > 25 && graph != "complete" || loses != 30 && testing.Short() {
					continue
				}
				t.Run(fmt.Sprint(graph, copied, loses), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						g := generationsOn(t, graph, "dsgd", 60, generation{people: []int{2, 1, 0, 3}},
							generation{people: []int{1, 2, 0, 3}, from: 20})
						if graph == "star" {
							g.rosters[1].people = []int{2, 3, 0, 1} // it stays the center
						}
						g.copied, g.back, g.takes, g.patient = copied, 30, time.Second, 2*time.Hour
						g.asks, g.late = 2, 9*time.Second
						g.returns = map[int]*comeback{1: {epoch: 1, loses: loses}}
						g.run(t, nil)
						if !g.returns[1].took {
							t.Error("it did not lose its state")
						}
					})
				})
			}
		}
	}
}
