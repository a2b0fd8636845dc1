package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/data/memory"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
)

// small is the small run as it reads its records.
func small(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("small.toml", []byte(experimenttest.Small), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// digits are generated records, taken out of their data set and brought back.
func digits(t *testing.T) *data.Split {
	t.Helper()
	e := small(t)
	table := func(d *data.Dataset) *memory.Table {
		m := &memory.Table{Classes: d.ClassNames}
		for len(m.Classes) < d.Classes {
			m.Classes = append(m.Classes, string(rune('a'+len(m.Classes))))
		}
		for i := range d.Len() {
			row := make([]float64, d.X.Cols)
			for c, x := range d.X.Row(i) {
				row[c] = float64(x)
			}
			m.X, m.Labels = append(m.X, row), append(m.Labels, int(d.Labels[i]))
		}
		return m
	}
	s, err := memory.Split(table(e.Task.Split.Train), table(e.Task.Split.Test))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run on records in memory has the figures of the run that read them, says them as
// numbers, and goes on after an interruption with the same records alone.
func TestRecordsInMemory(t *testing.T) {
	records := digits(t)
	text := strings.Replace(experimenttest.Small, `"glyphs"`, `"memory"`, 1)
	for _, key := range []string{"train = ", "test = "} {
		if i := strings.Index(text, "\n"+key); i >= 0 {
			text = text[:i] + text[i+1+strings.Index(text[i+1:], "\n"):]
		}
	}
	build := func() *experiment.Experiment {
		f, err := experiment.Parse("memory.toml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := experiment.BuildOn(f, records)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	var said []run.Evaluation
	out := t.TempDir()
	whole, err := run.Run(context.Background(), build(), run.Options{Out: out,
		Evaluated: func(e run.Evaluation) { said = append(said, e) }})
	if err != nil {
		t.Fatal(err)
	}
	same, err := run.Run(context.Background(), small(t), run.Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	metrics := func(dir string) string {
		b, err := os.ReadFile(filepath.Join(dir, "metrics.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if metrics(whole.Dir) != metrics(same.Dir) {
		t.Error("records in memory train otherwise than the same ones of a data set")
	}
	checkPage(t, whole.Dir)
	last := said[len(said)-1]
	checkMetrics(t, &last)
	if accuracy, ok := last.Mean("accuracy"); !ok || whole.Summary.Accuracy == nil ||
		accuracy != whole.Summary.Accuracy.Mean || last.Round != last.Rounds {
		t.Errorf("said %+v", last)
	}
	if lower, upper := whole.Summary.Worst(); float64(last.Epsilon.Lower) != lower ||
		float64(last.Epsilon.Upper) != upper {
		t.Errorf("epsilon %v, want %v to %v", last.Epsilon, lower, upper)
	}
	for i := range said[1:] {
		if said[i].Round >= said[i+1].Round {
			t.Error("evaluations out of order")
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var cut *run.Interrupted
	_, err = run.Run(ctx, build(), run.Options{Out: t.TempDir(), Evaluated: func(e run.Evaluation) {
		if e.Round > 0 {
			stop()
		}
	}})
	if !errors.As(err, &cut) || !strings.Contains(err.Error(), "run.ResumeOn") {
		t.Fatalf("not interrupted: %v", err)
	}
	if _, err := run.Resume(context.Background(), cut.Dir, "", run.Options{}); err == nil ||
		!strings.Contains(err.Error(), "run.ResumeOn") {
		t.Errorf("resumed without the records: %v", err)
	}
	records.Train.X.Row(0)[0] += .5
	if _, err := run.ResumeOn(context.Background(), cut.Dir, records, run.Options{}); err == nil {
		t.Error("resumed on records that have changed")
	}
	records = digits(t)
	rest, err := run.ResumeOn(context.Background(), cut.Dir, records, run.Options{})
	if err != nil || metrics(rest.Dir) != metrics(whole.Dir) {
		t.Errorf("resumed otherwise: %v", err)
	}
}

// checkPage looks at what the report says of how to make the run again.
func checkPage(t *testing.T, dir string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile))
	if err != nil || strings.Contains(string(page), `<pre tabindex="0">sotto run `) ||
		!strings.Contains(string(page), `<pre tabindex="0">experiment.BuildOn`) {
		t.Errorf("the report names a command that has no records: %v", err)
	}
}

// checkMetrics compares the metrics of an evaluation with its rows of single agents.
func checkMetrics(t *testing.T, e *run.Evaluation) {
	t.Helper()
	metrics := e.Metrics()
	var each []float64
	for _, r := range e.Rows {
		if r.Metric == "accuracy" && r.Agent[0] <= '9' {
			each = append(each, r.Value)
		}
		if r.Metric == "consensus_distance" && metrics[r.Metric] !=
			(rundir.Stats{Mean: r.Value, Min: r.Value, Max: r.Value}) {
			t.Errorf("one value for all: %+v of %g", metrics[r.Metric], r.Value)
		}
	}
	a := metrics["accuracy"]
	if len(each) < 2 || a.Min != slices.Min(each) || a.Max != slices.Max(each) ||
		a.Mean < a.Min || a.Mean > a.Max {
		t.Errorf("accuracy %+v of %v", a, each)
	}
	if _, ok := e.Mean("nothing"); ok {
		t.Error("a metric that there is not")
	}
	if _, ok := metrics["consensus_distance"]; !ok {
		t.Errorf("metrics %v", metrics)
	}
}

// Records that a run file does not ask for, or that memory.Split did not make, would
// train something else than the run's identity says.
func TestBuildOnRefusals(t *testing.T) {
	records := digits(t)
	for _, c := range []struct {
		dataset string
		records *data.Split
		key     string
	}{
		{"glyphs", records, "data.dataset"},
		{"memory", nil, "records"},
		{"memory", &data.Split{}, "records"},
		{"memory", small(t).Task.Split, "records"},
	} {
		text := strings.Replace(experimenttest.Small, `"glyphs"`, `"`+c.dataset+`"`, 1)
		f, err := experiment.Parse("refused.toml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = experiment.BuildOn(f, c.records)
		if err == nil || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: %v", c.dataset, err)
		}
	}
}
