package adad2p

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// The settings in choices are those that the published rows of the search say.
func TestChoices(t *testing.T) {
	axes, rows, err := sweep.ReadRows("../../docs/results/seed002-search/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(axes, pushAxes) {
		t.Fatalf("axes %v", axes)
	}
	found := chooseAdaptive(collectPush(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}}))
	if !slices.Equal(found, choices) {
		t.Errorf("the search found\n%v\nchosen were\n%v", found, choices)
	}
}

// Of rows whose accuracy is that of clip 3 and the middle step, and of the second factor,
// those are chosen; constant clips come first.
func TestChooseAdaptive(t *testing.T) {
	rows := reproducetest.Runs(searchCells(reproduce.Full), func(v []string) float64 {
		a := .5
		if v[5] == "3" {
			a += .1
		}
		if strings.HasPrefix(v[4], "0.03333") {
			a += .05
		}
		if strings.HasSuffix(v[6], " 0.1") {
			a += .02
		}
		return a
	})
	list := chooseAdaptive(collectPush(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}}))
	if len(list) != 3*5 {
		t.Fatalf("%d choices, want one for each of 3 budgets and 5 families of forms", len(list))
	}
	forms := []string{"", "falling 0.1", "schedule 0.1", "quantile", "released"}
	for i, c := range list {
		if want := (adaptiveChoice{trueBudgets[i/5], forms[i%5], 3, .1}); c != want {
			t.Errorf("choice %d: %v, want %v", i, c, want)
		}
	}
}

// Forms are compared with the constant clip of the same seed, algorithm and budget:
// adaptive forms have two points more.
func TestAdaptive(t *testing.T) {
	rows := reproducetest.Runs(adaptiveCells(reproduce.Full), func(v []string) float64 {
		return .9 + reproduce.Number(v[7])/1000 + map[string]float64{"quantile": .02}[family(v[6])]*
			(1+reproduce.Number(v[7])/100)
	})
	d := adaptive(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full})
	groups := adaptiveGroups()
	if len(groups) != 5 || len(d.Figures) != 5 {
		t.Fatalf("%d groups and %d plots, want five: three budgets of sgp, one each of dsgd and dsgt",
			len(groups), len(d.Figures))
	}
	want := map[string]string{"constant clip": "", "clip at a released quantile": "+2.06 ± 0.03"}
	times := map[string]int{"constant clip": 5, "clip at a released quantile": 3}
	seen := map[string]int{}
	for _, row := range d.Rows {
		w, ok := want[row[2]]
		if !ok {
			continue
		}
		seen[row[2]]++
		if row[6] != w {
			t.Errorf("%s, %s at %s: %q less the constant clip, want %q", row[0], row[2], row[1], row[6], w)
		}
	}
	for form := range want {
		if seen[form] != times[form] {
			t.Errorf("%q has %d rows, want %d", form, seen[form], times[form])
		}
	}
}

// chooseAdaptive returns the setting of the highest accuracy for each budget and family
// of forms, of runs of searchPushes; of equal ones the first.
func chooseAdaptive(r pushRows) []adaptiveChoice {
	var list []adaptiveChoice
	best := map[[2]string]int{}
	most := map[[2]string]float64{}
	for _, p := range searchPushes() {
		if len(r.Of(p)) == 0 {
			continue
		}
		budget := strings.TrimPrefix(p.noise, "epsilon ")
		key, accuracy := [2]string{budget, family(p.form)}, r.Accuracy(p).Mean()
		c := adaptiveChoice{budget, p.form, p.clip, math.Round(p.step.first*p.clip*1e6) / 1e6}
		if at, ok := best[key]; !ok {
			best[key], most[key] = len(list), accuracy
			list = append(list, c)
		} else if accuracy > most[key] {
			list[at], most[key] = c, accuracy
		}
	}
	return list
}
