package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// personalPage runs bcd with unequal budgets and local-fit on the same data, for two
// seeds.
func personalPage(t *testing.T) (together, alone []string) {
	t.Helper()
	for seed := range 2 {
		set := []string{fmt.Sprintf("seed=%d", seed+1), "privacy.target_epsilon=0",
			"privacy.agent_epsilon=[1, 20]"}
		together = append(together, run(t, personalRun(t, set...), Options{}).Dir)
		file := strings.Replace(strings.Replace(personalFile, "updates = 6\n", "", 1), `"bcd"`, `"local-fit"`,
			1)
		f, err := Parse("local.toml", []byte(file),
			[]string{set[0], "privacy.mechanism=none", "privacy.target_epsilon=0"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build("")
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, run(t, e, Options{}).Dir)
	}
	return together, alone
}

// readRun reads a finished run for a report.
func readRun(t *testing.T, dir string) *finished {
	t.Helper()
	files, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newFinished(files)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A report with a run of every agent alone has each agent's gain, which is the difference
// of both metrics.csv, over its number of records, which is that of the data; what is
// left of a budget is the budget less what was spent.
func TestPersonalReport(t *testing.T) {
	together, alone := personalPage(t)
	page, plots, err := Report(append(slices.Clone(together), alone...))
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
		a, b := metric(t, together[k], "accuracy", "400"), metric(t, alone[k], "accuracy", "400")
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
	i := slices.IndexFunc(plots, func(f ReportFile) bool {
		return strings.HasPrefix(f.Name, "gain") && strings.HasSuffix(f.Name, ".csv")
	})
	if i < 0 {
		t.Fatal("no graph of gains")
	}
	a, b := metric(t, together[0], "accuracy", "400"), metric(t, alone[0], "accuracy", "400")
	for _, row := range table(t, plots[i].Bytes) {
		if g := 100 * (a[row["agent"]] - b[row["agent"]]); math.Abs(parseNumber(t, row["gain"])-g) > 1e-9 {
			t.Errorf("agent %s gains %s in the graph, %g in metrics.csv", row["agent"], row["gain"], g)
		}
	}

	r := readRun(t, together[0])
	parts := personalRun(t, "seed=1").Task.Parts
	for i, p := range r.Summary.Privacy {
		if p.Records != len(parts[i]) {
			t.Errorf("agent %d has %d records, its summary says %d", i, len(parts[i]), p.Records)
		}
	}
	rows := (&setting{label: "x", runs: []*finished{r}}).budgetRows()
	for _, row := range rows {
		if left := parseNumber(t, row[4]) - parseNumber(t, row[5]); math.Abs(left-parseNumber(t, row[6])) >
			2e-4 || left < 0 {
			t.Errorf("%q: left %g", row, left)
		}
	}
	if len(rows) < 2 || rows[0][4] != "1.0000" || !slices.ContainsFunc(rows, func(r []string) bool {
		return r[4] == "20.0000"
	}) {
		t.Errorf("budgets: %q", rows)
	}

	// Of a run by itself there is no gain, but what it reached over numbers of records.
	_, plots, err = Report(together[:1])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plots {
		if strings.Contains(f.Name, "gain") {
			t.Errorf("%s of a single run", f.Name)
		}
	}
	if rows := table(t, plotted(t, plots, "records.csv")); len(rows) < 2 || len(rows) > mostBins {
		t.Errorf("%d groups of agents", len(rows))
	}
}

// Groups hold about an eighth of the agents each, and agents with equally many records
// are together.
func TestBins(t *testing.T) {
	var all []sized
	for i := range 16 {
		all = append(all, sized{10 + i/5, float64(i)}) // 5 of 10, 5 of 11, 5 of 12, one of 13
	}
	want := []plot.Point{{X: 10, Y: 2}, {X: 11, Y: 7}, {X: 12, Y: 12}, {X: 13, Y: 15}}
	got := bins(all)
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for k, p := range got {
		sd := math.Sqrt(2.5) // of five consecutive numbers
		if k == 3 {
			sd = 0
		}
		if p.X != want[k].X || math.Abs(p.Y-want[k].Y) > 1e-12 || math.Abs(p.High-p.Y-sd) > 1e-12 ||
			math.Abs(p.Y-p.Low-sd) > 1e-12 {
			t.Errorf("group %d: %v, want %v with sd %g", k, p, want[k], sd)
		}
	}
	if bins(nil) != nil {
		t.Error("groups of nobody")
	}
}
