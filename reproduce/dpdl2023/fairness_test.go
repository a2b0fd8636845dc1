package dpdl2023

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// lastAccuracies are the kept metrics of a run of two agents and three classes: a is
// agent 0's accuracy of each class, b agent 1's.
func lastAccuracies(a, b [3]float64) []rundir.Row {
	var rows []rundir.Row
	add := func(agent, metric string, x float64) {
		rows = append(rows, rundir.Row{Round: 9, Agent: agent, Metric: metric, Value: x})
	}
	for i, acc := range [][3]float64{a, b} {
		add(fmt.Sprint(i), "accuracy", (acc[0]+acc[1]+acc[2])/3)
	}
	add("mean", "accuracy", (a[0]+a[1]+a[2]+b[0]+b[1]+b[2])/6)
	for c := range a {
		metric := rundir.ClassAccuracy + fmt.Sprint(c)
		add("mean", metric, (a[c]+b[c])/2)
		add("min", metric, min(a[c], b[c]))
	}
	return rows
}

// Without privacy both agents have .9, 1 and .8 of the classes; with it agent 0 has .9,
// .9 and .3, agent 1 .7, 1 and .5: classes .8, .95 and .4, agents .7 and .7333. Lost are
// .1, .05 and .4, .1833 on average. The second seed is the first with agents exchanged.
func TestFairness(t *testing.T) {
	plain, private := [3]float64{.9, 1, .8}, [2][3]float64{{.9, .9, .3}, {.7, 1, .5}}
	f := &reproduce.Results{Curves: reproduce.Curves{}, Scale: reproduce.Full}
	cells := slices.DeleteFunc(hospitalCells(false), func(c sweep.Cell) bool {
		return c.Values[0] != "dsgt" || c.Values[2] > "1332" || c.Values[1] == "10"
	})
	f.Rows = reproducetest.Runs(cells, func([]string) float64 { return .7 })
	for i := range f.Rows {
		r := &f.Rows[i]
		r.ConfigDigest = fmt.Sprintf("%016d", i)
		switch {
		case r.Values[1] == "none":
			f.Curves[reproduce.CurveKey(r)] = lastAccuracies(plain, plain)
		case r.Values[1] == "1" && r.Values[2] == "1331":
			f.Curves[reproduce.CurveKey(r)] = lastAccuracies(private[0], private[1])
		case r.Values[1] == "1":
			f.Curves[reproduce.CurveKey(r)] = lastAccuracies(private[1], private[0])
		}
	}
	d := hospitals(f)
	if len(d.Rows) != 3 || len(d.Rows[0]) != len(d.Header) {
		t.Fatalf("%q under %q", d.Rows, d.Header)
	}
	for i, want := range []string{
		"dsgt|none|70.00|80.00|100.00|20.00|90.00|90.00|0.00|80.00||",
		"dsgt|1|70.00|40.00|95.00|55.00|70.00|73.33|3.33|30.00|18.33|40.00",
		"dsgt|0.5||||||||||", // nothing is kept of these runs
	} {
		got := strings.ReplaceAll(strings.Join(d.Rows[i][:12], "|"), " ± 0.00", "")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The runs on MNIST are Table 1's: same settings, so that their rows have its digests.
func TestFairnessIsOfTable1(t *testing.T) {
	known := map[string]bool{}
	for _, c := range table1Cells(false) {
		known[strings.Join(c.Set, "\n")] = true
	}
	cells := fairCells(false)
	if len(cells) != 4*4*5 {
		t.Errorf("%d runs, want 80", len(cells))
	}
	for _, c := range cells {
		if !known[strings.Join(c.Set, "\n")] {
			t.Errorf("Table 1 has no run %q", c.Values)
		}
	}
}
