package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
	"sotto/topology"
)

// small is a run as its files tell of it, with one epsilon.
func small(t *testing.T, seed uint64, config string, accuracy, epsilon float64) *rundir.Run {
	t.Helper()
	g := new(topology.Graph)
	const ring = `{"agents":2,"graph":"pair","symmetric":true,"edges":[[0,1,0.5]],"self":[0.5,0.5]}`
	if err := json.Unmarshal([]byte(ring), g); err != nil {
		t.Fatal(err)
	}
	s := rundir.Summary{Name: "small", Seed: seed, Agents: 2, Rounds: 1, Engine: "3", RunHash: config,
		Quality: rundir.Quality{Accuracy: &rundir.Stats{Mean: accuracy, Min: accuracy, Max: accuracy}},
		Privacy: []rundir.PrivacyLine{{Epsilon: rundir.NewBounds(0, epsilon), Delta: 1e-5}},
		Notes:   []string{"noise is simulated"}}
	return &rundir.Run{
		Dir:     "runs/small",
		Command: rundir.Again("runs/small/config.toml"),
		Summary: s,
		Graph:   g,
		Config:  []byte(config),
		Rows: []rundir.Row{{Agent: "mean", Metric: "accuracy", Value: .1},
			{Round: 1, Agent: "mean", Metric: "accuracy", Value: accuracy}},
	}
}

// A page needs no more than the values of runs, and says what they are.
func TestPageOfValues(t *testing.T) {
	runs := []*rundir.Run{small(t, 1, "seed = 1\n[privacy]\ntarget_epsilon = 1.0\n", .5, 1),
		small(t, 2, "seed = 2\n[privacy]\ntarget_epsilon = 1.0\n", .7, 1),
		small(t, 1, "seed = 1\n[privacy]\ntarget_epsilon = 4.0\n", .8, 4)}
	page, plots, err := report.Make("3", runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 runs in 2 settings", "epsilon 1", "epsilon 4", "Noise is simulated.",
		"Made by sotto, engine 3.", "60.00\u00a0±\u00a014.14"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	names := map[string]bool{}
	for _, f := range plots {
		names[f.Name] = true
	}
	for _, want := range []string{"accuracy.svg", "accuracy.csv", "accuracy-epsilon.csv", "graph.svg"} {
		if !names[want] {
			t.Errorf("no plot %s among %v", want, names)
		}
	}
	again, _, err := report.Make("3", runs)
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("the same runs give another page, %v", err)
	}
	if page, _, err = report.Make("4", runs[:1]); err != nil ||
		!strings.Contains(string(page), "made by engine 3 and this program is engine 4") {
		t.Errorf("an old run is taken for a new one, %v", err)
	}
	runs[0].Config = []byte("seed = ")
	if _, _, err := report.Make("3", runs); err == nil ||
		!strings.HasPrefix(err.Error(), "runs/small/config.toml:1: found no valid TOML") {
		t.Error(err)
	}
}

// A family of settings has one colour in all plots of a page, and its budgets differ in
// dashes; where there is one family, budgets have colours. Parts of a plot agree.
func TestOneColourASetting(t *testing.T) {
	var runs []*rundir.Run
	for _, name := range []string{"dsgd", "dsgt"} {
		for _, epsilon := range []float64{1, 2, 4, 8, 16} {
			runs = append(runs, small(t, 1, fmt.Sprintf("seed = 1\n[algorithm]\nname = %q\n[privacy]\n"+
				"target_epsilon = %.1f\n", name, epsilon), .5+epsilon/100, epsilon))
		}
	}
	lines := func(file string, runs []*rundir.Run) (strokes []string) {
		t.Helper()
		_, plots, err := report.Make("3", runs)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range plots {
			if f.Name != file {
				continue
			}
			keys := regexp.MustCompile(`"fill:none;(stroke:[^"]*)"`)
			for _, m := range keys.FindAllStringSubmatch(string(f.Bytes), -1) {
				if strings.Contains(m[1], "stroke-width:1.6") {
					strokes = append(strokes, m[1])
				}
			}
		}
		return strokes
	}
	const blue, vermilion = "stroke:#0072B2", "stroke:#D55E00"
	first, second := lines("accuracy.svg", runs), lines("accuracy-2.svg", runs)
	if len(first) != 10 || len(second) != 10 { // curves and the lines of the legend
		t.Fatalf("%d and %d lines", len(first), len(second))
	}
	different := map[string]bool{}
	for k := range 10 {
		if !strings.HasPrefix(first[k], blue) || !strings.HasPrefix(second[k], vermilion) {
			t.Errorf("line %d: %s and %s", k, first[k], second[k])
		}
		different[first[k]] = true
	}
	if len(different) != 5 || strings.Contains(first[4], "dasharray") ||
		!strings.Contains(first[0], "dasharray") {
		t.Errorf("the looks of five budgets: %v", different)
	}
	if got := lines("accuracy-epsilon.svg", runs); len(got) != 4 || !strings.HasPrefix(got[0], blue) ||
		!strings.HasPrefix(got[1], vermilion) || strings.Contains(got[0]+got[1], "dasharray") {
		t.Errorf("accuracy against epsilon: %q", got)
	}
	if got := lines("accuracy.svg", runs[:2]); len(got) != 4 || !strings.HasPrefix(got[0], blue) ||
		!strings.HasPrefix(got[1], vermilion) || strings.Contains(got[1], "dasharray") {
		t.Errorf("one family: %q", got)
	}
}

// Agents whose epsilon differs in a last digit have one row, wherever that digit rounds.
func TestNoRowForALastDigit(t *testing.T) {
	runs := []*rundir.Run{small(t, 1, "seed = 1\n", .5, 3.9949), small(t, 2, "seed = 2\n", .6, 3.9949)}
	for _, r := range runs {
		for k, epsilon := range []float64{3.9951, 3.9999, 4.0000, 5} {
			line := r.Summary.Privacy[0]
			line.Agent, line.Epsilon = k+1, rundir.NewBounds(0, epsilon)
			r.Summary.Privacy = append(r.Summary.Privacy, line)
		}
	}
	page, _, err := report.Make("3", runs)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"<td>0-3</td>": 2, "<td>4.0000</td>": 2,
		"<td>4</td><td>5.0000</td>": 2, "<td>3.99": 0} {
		if n := strings.Count(string(page), text); n != want {
			t.Errorf("%s is there %d times, want %d", text, n, want)
		}
	}
}
