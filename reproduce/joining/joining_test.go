package joining

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// lines are the kept figures of a run: of the models alone, shared and own of each owner.
func lines(figure string, byOwner ...[3]float64) (rows []rundir.Row) {
	for i, values := range byOwner {
		for k, model := range []string{"alone", "shared", "own"} {
			rows = append(rows, rundir.Row{Round: 10, Agent: fmt.Sprint(i),
				Metric: reproduce.PersonalMetric(model, figure), Value: values[k]})
		}
	}
	return rows
}

// results of the hospitals at epsilon 3 with their own noise: two splits, of which the
// first has two owners that gain .1 and lose .02, the second one that gains .06.
func results() *reproduce.Results {
	r := run{group: &groups[0], owners: 4, noise: ownNoise, budget: "3"}
	f := &reproduce.Results{Curves: reproduce.Curves{}, Scale: reproduce.Full}
	cells := overSeeds([]run{r}, false)[:2]
	f.Rows = reproducetest.Runs(cells, func([]string) float64 { return 0 })
	f.Curves[reproduce.CurveKey(&f.Rows[0])] = lines("auroc", [3]float64{.7, .75, .8}, [3]float64{.9,
		.8, .88})
	f.Curves[reproduce.CurveKey(&f.Rows[1])] = lines("auroc", [3]float64{.6, .7, .66})
	return f
}

// Means over owners are .8 and .6 alone, .84 and .66 with own models: gains of .04 and
// .06, whose 95 % interval is .05 ± 12.7062 x .01.
func TestPays(t *testing.T) {
	d := pays(results())
	if len(d.Rows) != 2 || !strings.HasPrefix(d.Notes[0], "of 1 groups") {
		t.Fatalf("%q, %q", d.Rows, d.Notes)
	}
	got := strings.Join(d.Rows[0], "|")
	want := "hospitals, 4 owners|own|9.99|auroc|0.700 ± 0.141|0.738 ± 0.053|0.750 ± 0.127|+0.0500 ± 0.1271||"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	by := owners(results())
	// two owners are looked at, the second in one split, and accuracy is not kept
	if len(by.Rows) != 2 || by.Rows[0][1] != "cleveland" || by.Rows[0][7] != "+0.0800 ± 0.2541" ||
		by.Rows[1][1] != "hungarian" || by.Rows[1][7] != "-0.0200 ± NaN" {
		t.Errorf("%q", by.Rows)
	}
}

// A root mean squared error that falls is a gain.
func TestGainOfErrors(t *testing.T) {
	r := run{group: &groups[0], owners: 4, noise: ownNoise, budget: "3"}
	f := results()
	f.Curves[reproduce.CurveKey(&f.Rows[0])] = lines("rmse", [3]float64{.5, .9, .4})
	delete(f.Curves, reproduce.CurveKey(&f.Rows[1]))
	if s := gain(collect(f), r, "rmse", ""); len(s) != 1 || s[0] < .0999 || s[0] > .1001 {
		t.Errorf("gains %v, want .1", s)
	}
}

// Every run has as many records as it says, whatever part of them owners are tested on,
// and no seed that defaults were chosen on.
func TestCells(t *testing.T) {
	cells := append(paysCells(false), mapCells(false)...)
	for _, c := range cells {
		if len(c.Values[5]) != 3 || c.Values[5] < "101" || c.Values[5] > "120" {
			t.Fatalf("%q", c.Values)
		}
	}
	r := run{group: &groups[1], owners: 20, records: 200, noise: ownNoise, budget: "1"}
	if c := r.cell(); !slices.Contains(c.Set, "data.limit=8000") ||
		!slices.Contains(c.Set, "evaluate.validation=0.5") || !slices.Contains(c.Set, "evaluate.agents=10") {
		t.Errorf("%q", c.Set)
	}
	r.noise = central
	if c := r.pooled().cell(); !slices.Contains(c.Set, "topology.agents=1") ||
		!slices.Contains(c.Set, "data.limit=8000") {
		t.Errorf("%q", c.Set)
	}
}
