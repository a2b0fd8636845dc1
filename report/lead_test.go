package report_test

import (
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
