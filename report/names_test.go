package report_test

import (
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
)

// A figure that some agents do not have says why, and the figures of each agent stand by
// its name.
func TestFiguresOnPage(t *testing.T) {
	r := small(t, 1, "seed = 1\n", .5, 1)
	value, base := .75, .5
	r.Summary.Names = rundir.Names{Agents: []string{"Basel", "Chur"}, Classes: []string{"well", "ill"}}
	r.Summary.Figures = &rundir.Figures{Tested: 2, Records: 8, BaselineOf: "nothing else",
		Confusion: [][]int{{3, 1}, {0, 4}}, Lines: []rundir.FigureLine{{Name: "log_loss", Agents: 1,
			Over: &rundir.Stats{Mean: value, Min: value, Max: value}, Baseline: &base,
			Undefined: "all records have one class", ByAgent: []*float64{&value, nil}}}}
	page, _, err := report.Make("3", []*rundir.Run{r})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<td>log loss</td><td>0.7500, undefined at 1 agent: all records have one ",
		"<td>Basel</td><td>0.7500</td>", "<td>Chur</td><td>undefined</td>",
		"The baseline knows nothing else. ",
		`<th scope="col">predicted ill</th>`, "<td>well</td><td>3</td><td>1</td>", "are about class ill."} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Pages and the values of their plots name owners and classes, and number them where a
// run has no names; tokens have none.
func TestNamesOnPages(t *testing.T) {
	make2 := func(names rundir.Names, tokens int) (string, string) {
		private := small(t, 1, "seed = 1\n[privacy]\ntarget_epsilon = 1.0\n", .5, 1)
		free := small(t, 1, "seed = 1\n[privacy]\nmechanism = \"none\"\n", .9, 1)
		for k, r := range []*rundir.Run{private, free} {
			r.Summary.Names, r.Summary.Tokens = names, tokens
			for i, agent := range []string{"0", "1"} {
				for c, class := range []string{"0", "1"} {
					r.Rows = append(r.Rows, rundir.Row{Round: 1, Agent: agent,
						Metric: rundir.ClassAccuracy + class,
						Value:  .4 + .1*float64(i+2*c*k)})
				}
			}
		}
		page, plots, err := report.Make("3", []*rundir.Run{private, free})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range plots {
			if f.Name == "classes-1.csv" {
				return string(page), string(f.Bytes)
			}
		}
		t.Fatal("no heat map")
		return "", ""
	}
	names := rundir.Names{Agents: []string{"Basel", "Chur & Davos"}, Classes: []string{"well", "ill"}}
	page, values := make2(names, 0)
	for _, want := range []string{"<td>Basel</td>", "<td>ill</td>", "class ill at agent Basel",
		"Agents: 0 Basel, 1 Chur &amp; Davos."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(values, "\nBasel,ill,") || !strings.Contains(values, "\nChur & Davos,well,") {
		t.Errorf("the values of the heat map are %s", values)
	}
	if page, values = make2(rundir.Names{}, 0); !strings.Contains(page, "class 1 at agent 0") ||
		!strings.Contains(values, "\n0,1,") {
		t.Errorf("without names: %s", values)
	}
	if _, values = make2(names, 2); !strings.Contains(values, "\n0,ill,") {
		t.Errorf("tokens have the names of agents: %s", values)
	}
}
