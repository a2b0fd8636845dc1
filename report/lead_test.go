package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report"
)

// A page says in one sentence what came of the run, and what it cost: rounded up, so that
// no page promises more than the ledger.
func TestLead(t *testing.T) {
	for _, tc := range []struct {
		name     string
		upper    float64
		accuracy *rundir.Stats
		want     []string
	}{
		{"private", 3.99121, &rundir.Stats{Mean: .8041, Min: .7905, Max: .82}, []string{
			"4 agents on a ring graph reached an accuracy of 80.41 % on average, the worst of them 79.05 %.",
			"With secret noise, that would cost any one record at most epsilon 3.9913 at delta 1e-05.",
			`<p class="value">4.00</p>`, `<p class="value">80.41<small>%</small></p>`}},
		{"without privacy", math.Inf(1), &rundir.Stats{Mean: .9, Min: .9, Max: .9}, []string{
			"Nothing bounds what that tells about a record.", "∞"}},
		{"nothing released", 0, nil, []string{"reached a loss of 0.5 on average.", "Nothing was released"}},
	} {
		r := small(t, 1, "seed = 1\n", .5, 1)
		r.Summary.Agents, r.Summary.Topology.Name = 4, "ring"
		r.Summary.Accuracy, r.Summary.Loss = tc.accuracy, .5
		for i := range r.Summary.Privacy {
			p := &r.Summary.Privacy[i]
			p.Epsilon, p.Unit, p.Delta = rundir.NewBounds(0, tc.upper), "record", 1e-5
		}
		page, _, err := report.Make("4", []*rundir.Run{r})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tc.want {
			if !strings.Contains(string(page), w) {
				at := strings.Index(string(page), `class="lead"`)
				t.Errorf("%s: the page lacks %q: %.600s", tc.name, w, page[at:])
			}
		}
	}
}

// What a setting's runs cost is at most what the worst of them does: not their mean.
func TestEpsilonOfTheWorstRun(t *testing.T) {
	run := func(seed uint64, epsilon float64) *rundir.Run {
		r := small(t, seed, fmt.Sprintf("seed = %d\n[privacy]\nmechanism = \"gaussian\"\n"+
			"noise_multiplier = 1.0\n", seed), .5, epsilon)
		r.Rows = append(r.Rows, rundir.Row{Round: 1, Agent: "all", Metric: "consensus_distance",
			Epsilon: epsilon})
		return r
	}
	page, plots, err := report.Make("4", []*rundir.Run{run(1, 1), run(2, 3)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at epsilon 3.0000", ">3.0000<"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(string(page), "2.0000") {
		t.Error("the page has the mean of 1 and 3")
	}
	for _, f := range plots {
		if f.Name == "epsilon.csv" && !strings.Contains(string(f.Bytes), ",1,3,3,3\n") {
			t.Errorf("%s", f.Bytes)
		}
	}
}

// The headline of several settings counts those with noise alone, and compares settings
// of one guarantee.
func TestLeadOfSeveral(t *testing.T) {
	private := func(epsilon, accuracy float64, adjacency string, delta float64) *rundir.Run {
		r := small(t, 1, fmt.Sprintf("seed = 1\n[privacy]\nmechanism = \"gaussian\"\nadjacency = %q\n"+
			"target_epsilon = %.1f\ntarget_delta = %f\n", adjacency, epsilon, delta), accuracy, epsilon)
		p := &r.Summary.Privacy[0]
		p.Adjacency, p.Unit, p.Delta = adjacency, "record", delta
		return r
	}
	none := small(t, 1, "seed = 1\n[privacy]\nmechanism = \"none\"\n", .9, math.Inf(1))
	local := small(t, 1, "seed = 1\n[algorithm]\nname = \"local\"\n[privacy]\nmechanism = \"none\"\n", .9,
		0)
	for name, tc := range map[string]struct {
		runs []*rundir.Run
		want []string
	}{
		"one guarantee": {[]*rundir.Run{private(1, .5, "zero-out", .001), none,
			private(4, .8, "zero-out", .001), local}, []string{"Of 2 settings with privacy, " +
			"epsilon 4 reached the most: an accuracy of 80.00 %, at epsilon 4.0000."}},
		"one of them": {[]*rundir.Run{private(1, .5, "zero-out", .001), none},
			[]string{"The one setting with privacy, small, reached an accuracy of 50.00 %"}},
		"two guarantees": {[]*rundir.Run{private(1, .5, "zero-out", .001),
			private(4, .8, "zero-out", .001), private(4, .7, "replace-one", .001)}, []string{
			"Settings with different guarantees are not compared.",
			"Of 2 settings with privacy for zero-out of one record and delta 0.001, epsilon 4, adjacency " +
				"zero-out reached the most: an accuracy of 80.00 %",
			"The one setting with privacy for replace-one of one record and delta 0.001"}},
		"two deltas": {[]*rundir.Run{private(1, .5, "zero-out", .001), private(1, .8, "zero-out", .1)},
			[]string{"zero-out of one record and delta 0.1, target_delta", "and delta 0.001, "}},
		"none": {[]*rundir.Run{none, local}, nil},
	} {
		page, _, err := report.Make("4", tc.runs)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, led := strings.Cut(string(page), `class="lead">`)
		lead, _, _ := strings.Cut(rest, "</p>")
		for _, w := range tc.want {
			if !strings.Contains(lead, w) {
				t.Errorf("%s: %q lacks %q", name, lead, w)
			}
		}
		if led != (tc.want != nil) {
			t.Errorf("%s: %q", name, lead)
		}
	}
}
