package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/report"
)

// personalPage runs bcd with unequal budgets and local-fit on the same data, for two
// seeds.
func personalPage(t *testing.T) (together, alone []string) {
	t.Helper()
	for seed := range 2 {
		set := []string{fmt.Sprintf("seed=%d", seed+1), "privacy.target_epsilon=0",
			"privacy.agent_epsilon=[1, 20]"}
		together = append(together, train(t, personalRun(t, set...), Options{}).Dir)
		file := strings.Replace(strings.Replace(personalFile, "updates = 6\n", "", 1), `"bcd"`, `"local-fit"`,
			1)
		f, err := experiment.Parse("local.toml", []byte(file),
			[]string{set[0], "privacy.mechanism=none", "privacy.target_epsilon=0"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, train(t, e, Options{}).Dir)
	}
	return together, alone
}

// A report with a run of every agent alone has each agent's gain, which is the difference
// of both metrics.csv, over its number of records, which is that of the data; what is
// left of a budget is the budget less what was spent.
func TestPersonalReport(t *testing.T) {
	together, alone := personalPage(t)
	page, plots, err := report.Read(experiment.EngineVersion, append(slices.Clone(together), alone...))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Personal models", "wakes of all agents", "agents that gain",
		"Objective of personal models"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	mean, better := 0., 0
	for k := range together {
		a, b := metricIn(t, together[k], "accuracy", "400"), metricIn(t, alone[k], "accuracy", "400")
		for i := range 24 {
			g := a[fmt.Sprint(i)] - b[fmt.Sprint(i)]
			mean += g / 48
			if g > 0 {
				better++
			}
		}
	}
	for _, want := range []string{fmt.Sprintf("%d of 48", better), fmt.Sprintf("%+.2f points", 100*mean)} {
		if !strings.Contains(string(page), "<td>"+strings.Replace(want, "+", "&#43;", 1)+"</td>") {
			t.Errorf("the page lacks %q", want)
		}
	}
	i := slices.IndexFunc(plots, func(f report.File) bool {
		return strings.HasPrefix(f.Name, "gain") && strings.HasSuffix(f.Name, ".csv")
	})
	if i < 0 {
		t.Fatal("no graph of gains")
	}
	a, b := metricIn(t, together[0], "accuracy", "400"), metricIn(t, alone[0], "accuracy", "400")
	for _, row := range table(t, plots[i].Bytes) {
		if g := 100 * (a[row["agent"]] - b[row["agent"]]); math.Abs(parseNumber(t, row["gain"])-g) > 1e-9 {
			t.Errorf("agent %s gains %s in the graph, %g in metrics.csv", row["agent"], row["gain"], g)
		}
	}

	r, err := rundir.Read(together[0])
	if err != nil {
		t.Fatal(err)
	}
	parts := personalRun(t, "seed=1").Task.Parts
	for i, p := range r.Summary.Privacy {
		if p.Records != len(parts[i]) {
			t.Errorf("agent %d has %d records, its summary says %d", i, len(parts[i]), p.Records)
		}
	}
	// Of a run by itself there is no gain, but what it reached over numbers of records.
	_, plots, err = report.Read(experiment.EngineVersion, together[:1])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plots {
		if strings.Contains(f.Name, "gain") {
			t.Errorf("%s of a single run", f.Name)
		}
	}
	if rows := table(t, plotted(t, plots, "records.csv")); len(rows) < 2 || len(rows) > 8 {
		t.Errorf("%d groups of agents", len(rows))
	}
}
