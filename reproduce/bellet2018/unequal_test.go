package bellet2018

import (
	"fmt"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Every class finds its own agents and its own rows: agent i has accuracy .5 + .1 (i mod
// 2), and .1 more where budgets differ, so that the second of two classes has 60 % where
// all are alike and 70 % where they are not.
func TestOwnBudgetsTable(t *testing.T) {
	s := Paper.Studies["budgets"]
	f := &reproduce.Results{Rows: reproducetest.Runs(s.Cells(reproduce.Full),
		func(v []string) float64 { return .5 }), Curves: reproduce.Curves{}, Scale: reproduce.Full}
	for i := range f.Rows {
		r := &f.Rows[i]
		r.ConfigDigest = fmt.Sprintf("%016d", i)
		more := 0.
		if r.Values[7] != "" {
			more = .1
		}
		k := reproduce.CurveKey(r)
		for a := range taskAgents {
			f.Curves[k] = append(f.Curves[k], rundir.Row{Round: 3000, Agent: fmt.Sprint(a),
				Metric: "accuracy", Value: .5 + .1*float64(a%2) + more})
		}
	}
	d := s.Report(f)
	if len(d.Rows) != 2+3+2+3+2 {
		t.Fatalf("%d rows", len(d.Rows))
	}
	want := "coordinate descent, Gaussian|.15 1.05, updates 4 16|1.05|50|70.00 ± 0.00|60.00 ± 0.00|+10.00"
	if got := strings.Join(d.Rows[11][:7], "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// of three classes each has even and odd agents alike, but for one of 33 or 34
	if got := strings.Join(d.Rows[4][2:4], "|"); got != "1.05|33" {
		t.Errorf("%s", got)
	}
}

// One answer at an agent's first wake knows nothing of records that come later: where
// none is there at the start it guesses (51 ± 3 % in ten instances), where all are it
// does not (87 ± 1).
func TestLateRecordsAreMissed(t *testing.T) {
	late, all := unequalTask("smooth-gaussian", "arrival 0", 10_000, 10_000),
		unequalTask("smooth-gaussian", "", 10_000, 10_000)
	late.seed, all.seed = 11, 11
	rows := runTasks(t, t.TempDir(), late, all)
	if !(rows[0].Accuracy.Mean < .65 && rows[1].Accuracy.Mean > .8) {
		t.Errorf("accuracy %g where nothing is there at the start, %g where all is", rows[0].Accuracy.Mean,
			rows[1].Accuracy.Mean)
	}
	for _, r := range rows {
		if r.Charges != 1 || r.EpsilonUpper > 1.05 {
			t.Errorf("epsilon %g in %d charges, at most 1.05 in one", r.EpsilonUpper, r.Charges)
		}
	}
}

// The stand-in has the runs of the study on the real file, and says on every row that it
// is not that.
func TestStandInIsLabelled(t *testing.T) {
	real, made := Paper.Studies["movielens"], Paper.Studies["movielens-standin"]
	if strings.Contains(made.Base, `"movielens"`) || !strings.Contains(made.Base, `"made-ratings"`) ||
		!strings.Contains(real.Base, `"movielens"`) {
		t.Error("data sets are mixed up")
	}
	d := made.Report(&reproduce.Results{Rows: reproducetest.Runs(made.Cells(reproduce.Full),
		func([]string) float64 { return 0 }), Scale: reproduce.Full})
	if len(d.Rows) != 5 || !strings.HasPrefix(d.Notes[0], "GENERATED STAND-IN") {
		t.Errorf("%q", d.Notes[0])
	}
	for _, r := range d.Rows {
		if r[0] != "generated stand-in" || len(r) != len(d.Header) {
			t.Errorf("%q", r)
		}
	}
}
