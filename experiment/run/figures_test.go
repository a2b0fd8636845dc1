package run

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/report"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Figures agree with what every run has, which is computed elsewhere, and the baseline
// with a count of labels.
func TestFigures(t *testing.T) {
	plain := train(t, build(t), Options{})
	e := build(t, "evaluate.figures=true")
	r := train(t, e, Options{})
	if !bytes.Equal(read(t, plain.Dir, rundir.MetricsFile), read(t, r.Dir, rundir.MetricsFile)) ||
		bytes.Contains(read(t, plain.Dir, rundir.SummaryFile), []byte("figures")) {
		t.Error("figures change metrics, or stand where nobody has asked")
	}
	f := r.Summary.Figures
	lines := map[string]rundir.FigureLine{}
	for _, l := range f.Lines {
		lines[l.Name] = l
	}
	if f.Records != 100 || f.Tested != 5 || !f.Shared || len(f.Lines) != 10 {
		t.Errorf("%+v", f)
	}
	acc := lines["accuracy"]
	near(t, "accuracy", acc.Over.Mean, r.Summary.Accuracy.Mean, 1e-12)
	near(t, "least accuracy", acc.Over.Min, r.Summary.Accuracy.Min, 1e-12)
	near(t, "log loss", lines["log_loss"].Over.Mean, float64(r.Summary.Loss), 1e-5)
	near(t, "accuracy of agent 3", *acc.ByAgent[3], metricIn(t, r.Dir, "accuracy", "12")["3"], 1e-12)
	if in := acc.Interval; in == nil || !(in[0] < acc.Over.Mean && acc.Over.Mean < in[1]) {
		t.Errorf("interval %v around %g", in, acc.Over.Mean)
	}
	count := map[int32]int{}
	for _, rows := range e.Task.Parts {
		for _, row := range rows {
			count[e.Task.Split.Train.Labels[row]]++
		}
	}
	most, hits := int32(0), 0
	for c := range int32(10) {
		if count[c] > count[most] {
			most = c
		}
	}
	for _, y := range e.Task.Split.Test.Labels {
		if y == most {
			hits++
		}
	}
	near(t, "baseline", *acc.Baseline, float64(hits)/100, 1e-12)
	near(t, "AUROC of the baseline", *lines["auroc"].Baseline, .5, 1e-12)
	all, right, binned := 0, 0, 0
	for i, row := range f.Confusion {
		for j, n := range row {
			if all += n; i == j {
				right += n
			}
		}
	}
	for _, b := range f.Reliability {
		binned += b.Records
	}
	if all != 500 || binned != 500 {
		t.Errorf("%d and %d predictions of 5 models for 100 records", all, binned)
	}
	near(t, "share on the diagonal", float64(right)/500, acc.Over.Mean, 1e-12)

	again := train(t, build(t, "evaluate.figures=true"), Options{Workers: 3})
	if *again.Summary.Figures.Lines[1].Interval != *f.Lines[1].Interval {
		t.Error("figures depend on the number of workers")
	}
	page, _, err := report.Read(experiment.EngineVersion, []string{r.Dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>How good the models are</h2>", "<td>auroc</td>",
		`<th scope="col">predicted 9</th>`,
		`<th scope="col">share observed</th>`, "by a bootstrap of the test records"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

const housing = `rounds = 10
topology = {graph = "complete", agents = 3}
data = {dataset = "least-squares", records = 300, test = 60, dim = 4}
model = {name = "least-squares"}
algorithm = {step_size = 0.1}
privacy = {mechanism = "none", batch_size = 20}
evaluate = {figures = true, rmse = true}
`

// Figures of a regression agree with its root mean squared error; the baseline is the
// mean of all training targets.
func TestFiguresOfRegression(t *testing.T) {
	f, err := experiment.Parse("housing.toml", []byte(housing), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	r := train(t, e, Options{})
	got := r.Summary.Figures
	if len(got.Lines) != 3 || got.Lines[2].Name != "rmse" || got.Confusion != nil || got.Reliability != nil {
		t.Fatalf("%+v", got)
	}
	mean, n, squares := 0., 0., 0.
	for _, y := range e.Task.Split.Train.Targets {
		mean += float64(y)
		n++
	}
	for _, y := range e.Task.Split.Test.Targets {
		squares += (float64(y) - mean/n) * (float64(y) - mean/n)
	}
	near(t, "rmse of the baseline", *got.Lines[2].Baseline,
		math.Sqrt(squares/float64(e.Task.Split.Test.Len())), 1e-6)
	near(t, "rmse", got.Lines[2].Over.Mean, r.Summary.RMSE.Mean, 1e-6)
}

// What has neither classes nor one target has no figures.
func TestFiguresRefused(t *testing.T) {
	f := parse(t, "evaluate.figures=true", `model={name="autoencoder",hidden=[4]}`)
	if _, err := f.Build(""); err == nil || !strings.Contains(err.Error(),
		"evaluate.figures: found true, allowed: false with model autoencoder") {
		t.Error(err)
	}
}
