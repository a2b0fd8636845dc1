package sweep

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sotto/config"
)

// Cells that cannot be run have no rows; the others have theirs, the error names the bad
// ones in order, and is of the kind of the first.
func TestFailedCellsLeaveTheOthers(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the same command again ends alike
		s := tiny(t, "topology.graph=complete,ring,star", "topology.agents=2,3", "seed=1",
			"algorithm.step_size=0.5")
		res, err := s.Run(context.Background(), Options{Dir: dir, Workers: 2})
		var bad *config.Error
		if err == nil || !errors.As(err, &bad) || bad.Key != "topology.agents" ||
			!strings.Contains(err.Error(), "topology.agents=2 topology.graph=ring") {
			t.Fatalf("%v", err)
		}
		if res == nil || len(res.Rows) != s.Cells()-1 {
			t.Fatalf("%+v", res)
		}
	}
}

// The error of many failures tells the first.
func TestFailuresAreTold(t *testing.T) {
	var all failures
	for i := range 6 {
		all = append(all, &failure{i, "seed=1", errors.New("no")})
	}
	want := "6 cells without a row: cell 0 (seed=1): no; cell 1 (seed=1): no; cell 2 (seed=1): no; " +
		"cell 3 (seed=1): no; 2 more"
	if all.Error() != want {
		t.Error(all.Error())
	}
}
