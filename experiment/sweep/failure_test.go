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

// The data of the first cell are missing: the others run. One that is not asked for keeps
// nobody from running, whatever is wrong with it.
func TestFirstCellFails(t *testing.T) {
	missing := Cell{Values: []string{"missing"}, Set: []string{`data={dataset="breast-cancer"}`,
		`model={name="logistic"}`}}
	bad := Cell{Values: []string{"bad"}, Set: []string{"topology.agents=1000"}}
	good := Cell{Values: []string{"good"}, Set: []string{"algorithm.step_size=0.5"}}
	for _, c := range []struct {
		cells  []Cell
		only   map[string]string
		rows   int
		failed string
	}{
		{[]Cell{missing, good}, nil, 1, "cell 0 (kind=missing)"},
		{[]Cell{missing, good}, map[string]string{"kind": "good"}, 1, ""},
		{[]Cell{bad, good}, map[string]string{"kind": "good"}, 1, ""},
		{[]Cell{bad, good}, nil, 0, "agents"},
		{[]Cell{missing}, nil, 0, "missing"},
	} {
		s, err := New("tiny.toml", []byte(tinySweep), []string{"kind"}, c.cells)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), Options{Dir: t.TempDir(), DataDir: t.TempDir(),
			Part: Part{Only: c.only}})
		rows := 0
		if res != nil {
			rows = len(res.Rows)
		}
		if rows != c.rows || (err == nil) != (c.failed == "") ||
			err != nil && !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%v, only %v: %d rows, %v", c.cells[0].Values, c.only, rows, err)
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
