package sweep

import (
	"math"
	"testing"

	"sotto/experiment/rundir"
)

// Settings are compared over seeds, each by the mean over its folds, in the figure that
// all have.
func TestCompare(t *testing.T) {
	axes := []string{"algorithm.name", SeedAxis, FoldAxis}
	nan := math.NaN()
	var rows []Row
	for _, r := range []struct {
		name, seed, fold string
		accuracy         float64
	}{
		{"dsgd", "1", "0", .5}, {"dsgd", "1", "1", .7}, {"dsgd", "2", "0", .6}, {"dsgd", "2", "1", .6},
		{"dsgt", "1", "0", .8}, {"dsgt", "1", "1", .6}, {"dsgt", "02", "0", .9}, {"dsgt", "2", "1", .9},
		{"dsgt", "3", "0", 0},
	} {
		rows = append(rows, Row{Cell: len(rows), Values: []string{r.name, r.seed, r.fold}, RMSE: nan,
			Accuracy: rundir.Stats{Mean: r.accuracy}, Tested: Tested{Loss: 2 * r.accuracy}})
	}
	all := BySeed(axes, rows)
	if len(all) != 2 || all[1].Values[0] != "dsgt" || all[1].Values[1] != "" {
		t.Fatalf("%+v", all)
	}
	for figure, scale := range map[string]float64{"accuracy": 1, "loss": 2} {
		x := all[1].Seeds(axes, figure)
		if len(x) != 3 || math.Abs(x[0]-.7*scale) > 1e-15 || math.Abs(x[1]-.9*scale) > 1e-15 || x[2] != 0 {
			t.Errorf("%s of seeds: %v", figure, x)
		}
	}
	// differences .1 and .3: mean .2, standard error .1, and by published tables 12.706
	// of these for 1 degree of freedom; p = 1 - 2 atan(2)/pi
	figure, less := Compare(axes, all)
	if d := less[0]; figure != "accuracy" || d.Pairs != 2 || math.Abs(d.Mean-.2) > 1e-12 ||
		math.Abs(d.High-.2-1.2706) > 1e-4 || math.Abs(d.P-(1-2*math.Atan(2)/math.Pi)) > 1e-9 {
		t.Errorf("%s: %+v", figure, less)
	}
	for k := range rows { // a regression, one run of which has diverged
		rows[k].Accuracy.Mean, rows[k].Loss = nan, float64(k*k)
	}
	rows[0].Loss = nan
	figure, less = Compare(axes, BySeed(axes, rows))
	if d := less[0]; figure != "loss" || d.Pairs != 2 || !math.IsNaN(d.Mean) || !math.IsNaN(d.P) {
		t.Errorf("%s: %+v", figure, less)
	}
	if all := BySeed(axes, rows[:2]); all != nil { // one seed
		t.Errorf("%+v", all)
	}
	if all := BySeed([]string{"a", "b", "c"}, rows); all != nil { // no seed at all
		t.Errorf("%+v", all)
	}
	if figure, less := Compare(axes, BySeed(axes, rows[:4])); less != nil {
		t.Errorf("one setting: %s %+v", figure, less)
	}
}
