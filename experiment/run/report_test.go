package run

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/report"
)

// table reads a CSV file as maps by column.
func table(t *testing.T, b []byte) []map[string]string {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for k, name := range lines[0] {
			row[name] = line[k]
		}
		rows = append(rows, row)
	}
	return rows
}

func parseNumber(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// metric reads values of one metric from a run's metrics.csv: by agent at the given
// round.
func metricIn(t *testing.T, dir, name, round string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, row := range table(t, read(t, dir, rundir.MetricsFile)) {
		if row["metric"] == name && row["round"] == round {
			values[row["agent"]] = parseNumber(t, row["value"])
		}
	}
	return values
}

func plotted(t *testing.T, plots []report.File, name string) []byte {
	t.Helper()
	i := slices.IndexFunc(plots, func(f report.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no plot %s", name)
	}
	return plots[i].Bytes
}

// study is two graphs with three seeds each, and the two without privacy.
func study(t *testing.T) (dir string, private, free []string) {
	t.Helper()
	dir = t.TempDir()
	for _, graph := range []string{"ring", "complete"} {
		for seed := range 3 {
			private = append(private,
				train(t, build(t, "topology.graph="+graph, fmt.Sprintf("seed=%d", seed+1)),
					Options{Out: filepath.Join(dir, "runs")}).Dir)
		}
		f, err := experiment.Parse("small.toml",
			[]byte(strings.Replace(small, "target_epsilon = 6", `mechanism = "none"`, 1)),
			[]string{"topology.graph=" + graph, "seed=1"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		free = append(free, train(t, e, Options{Out: filepath.Join(dir, "free")}).Dir)
	}
	return dir, private, free
}

func TestReport(t *testing.T) {
	dir, private, free := study(t)
	page, plots, err := report.Read(experiment.EngineVersion, private)
	if err != nil {
		t.Fatal(err)
	}
	// As a sweep's directory, whose runs are read by name.
	again, _, err := report.Read(experiment.EngineVersion, []string{dir})
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("a folder of runs gives another page than its runs, %v", err)
	}
	t.Run("repeatable", func(t *testing.T) {
		again, plotsAgain, err := report.Read(experiment.EngineVersion, private)
		if err != nil || !bytes.Equal(page, again) {
			t.Errorf("another page of the same runs, %v", err)
		}
		for i := range plots {
			if !bytes.Equal(plots[i].Bytes, plotsAgain[i].Bytes) {
				t.Errorf("%s: other bytes of the same runs", plots[i].Name)
			}
		}
	})
	t.Run("page", func(t *testing.T) {
		s := string(page)
		for _, bad := range []string{"http:", "https:", "<script ", "src=", "href=", "url(", "NaN"} {
			if strings.Contains(s, bad) {
				t.Errorf("the page contains %q", bad)
			}
		}
		if got := strings.Count(s, "<figure>"); got != len(plots)/2 {
			t.Errorf("%d plots on the page, %d files", got, len(plots)/2)
		}
		for _, want := range append([]string{"6 runs in 2 settings", "protects nobody", "zero-out"},
			private...) {
			if !strings.Contains(s, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if strings.Index(s, "protects nobody") > strings.Index(s, "<svg") {
			t.Error("the note on noise comes after the plots")
		}
	})
	t.Run("plots are well-formed", func(t *testing.T) {
		for _, f := range plots {
			if !strings.HasSuffix(f.Name, ".svg") {
				continue
			}
			dec := xml.NewDecoder(bytes.NewReader(f.Bytes))
			for {
				if _, err := dec.Token(); err != nil {
					if !errors.Is(err, io.EOF) {
						t.Errorf("%s: %v", f.Name, err)
					}
					break
				}
			}
		}
	})
	t.Run("bands", func(t *testing.T) { checkBands(t, plots, private) })
	t.Run("loss of privacy", func(t *testing.T) { checkLoss(t, private, free) })
}

// The learning curves are the mean and the sample standard deviation, over three seeds,
// of the mean over agents in metrics.csv.
func checkBands(t *testing.T, plots []report.File, runs []string) {
	curves := map[string]int{}
	for _, row := range table(t, plotted(t, plots, "accuracy.csv")) {
		curves[row["curve"]]++
		of := runs[:3]
		if row["curve"] == "complete" {
			of = runs[3:]
		}
		var sum, squares float64
		for _, dir := range of {
			agents, mean := metricIn(t, dir, "accuracy", row["round"]), 0.
			for i := range 5 {
				mean += agents[strconv.Itoa(i)] / 5
			}
			sum, squares = sum+mean, squares+mean*mean
		}
		mean := sum / 3
		sd := math.Sqrt(max(0, squares-3*mean*mean) / 2)
		for name, want := range map[string]float64{"accuracy": mean, "low": mean - sd,
			"high": mean + sd} {
			// 3 m² is subtracted from a sum of squares
			if got := parseNumber(t, row[name]); math.Abs(got-want) > 1e-7 {
				t.Errorf("%s, round %s: %s is %g, want %g", row["curve"], row["round"], name, got, want)
			}
		}
	}
	if len(curves) != 2 || curves["ring"] < 3 || curves["ring"] != curves["complete"] {
		t.Errorf("curves: %v", curves)
	}
	if fiedler := table(t, plotted(t, plots, "accuracy-fiedler.csv")); len(fiedler) != 2 ||
		parseNumber(t, fiedler[1]["normalized_Fiedler_value_of_the_graph"]) != 1 {
		t.Errorf("accuracy against Fiedler value: %v", fiedler)
	}
}

// Privacy's loss is the difference of class accuracies of metrics.csv, and the page names
// the class that loses most.
func checkLoss(t *testing.T, private, free []string) {
	page, plots, err := report.Read(experiment.EngineVersion, []string{private[0], free[0]})
	if err != nil {
		t.Fatal(err)
	}
	last := strconv.FormatUint(parse(t).Run.Rounds, 10)
	var worst string
	most := math.Inf(-1)
	cells := table(t, plotted(t, plots, "privacy-loss-"+lossNumber(plots)+".csv"))
	if len(cells) != 50 {
		t.Fatalf("%d cells of 5 agents and 10 classes", len(cells))
	}
	for class := range 10 {
		p, f := metricIn(t, private[0], fmt.Sprintf("class_accuracy.%d", class), last),
			metricIn(t, free[0], fmt.Sprintf("class_accuracy.%d", class), last)
		mean := 0.
		for i := range 5 {
			loss := f[strconv.Itoa(i)] - p[strconv.Itoa(i)]
			mean += loss / 5
			if got := parseNumber(t, cells[10*i+class]["fraction"]); math.Abs(got-loss) > 1e-12 {
				t.Errorf("class %d at agent %d: %g, want %g", class, i, got, loss)
			}
		}
		if mean > most {
			most, worst = mean, fmt.Sprintf("<td>%d</td><td>%.1f</td>", class, 100*mean)
		}
	}
	if !strings.Contains(string(page), worst) {
		t.Errorf("the page lacks the worst class, %s", worst)
	}
}

// lossNumber is the number in the name of the only plot of losses.
func lossNumber(plots []report.File) string {
	for _, f := range plots {
		if n, ok := strings.CutPrefix(f.Name, "privacy-loss-"); ok {
			return strings.TrimSuffix(n, ".svg")
		}
	}
	return ""
}

// Class accuracies, weighted with the classes' test records, give back the accuracy; they
// are written after the last round only. A class without test records has no figure.
func TestClassAccuraciesAddUp(t *testing.T) {
	e := build(t, "evaluate.limit=6")
	dir := train(t, e, Options{}).Dir
	last := strconv.FormatUint(e.File.Run.Rounds, 10)
	accuracy := metricIn(t, dir, "accuracy", last)
	known := 0
	for i, tests := range e.Task.Tests {
		count, right := map[int32]float64{}, 0.
		for _, label := range tests.Labels {
			count[label]++
		}
		for class := range int32(10) {
			v, ok := metricIn(t, dir, fmt.Sprintf("class_accuracy.%d", class), last)[strconv.Itoa(i)]
			if ok != (count[class] > 0) {
				t.Errorf("agent %d with %g test records of class %d has a figure: %v", i, count[class], class,
					ok)
			}
			if ok {
				known++
				right += v * count[class]
			}
		}
		if got := right / float64(tests.Len()); math.Abs(got-accuracy[strconv.Itoa(i)]) > 1e-12 {
			t.Errorf("agent %d: class accuracies give %g, accuracy is %g", i, got, accuracy[strconv.Itoa(i)])
		}
	}
	if known == 0 || known == 50 {
		t.Errorf("%d figures: nothing was left out, or all", known)
	}
	if len(metricIn(t, dir, "class_accuracy.0", "0")) > 0 {
		t.Error("class accuracies before the last round")
	}
}

func TestReportRefuses(t *testing.T) {
	empty := t.TempDir()
	broken := train(t, build(t), Options{}).Dir
	err := os.WriteFile(filepath.Join(broken, rundir.SummaryFile), []byte(`{"rounds": "ten"}`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	metrics := train(t, build(t), Options{}).Dir
	if err := os.WriteFile(filepath.Join(metrics, rundir.MetricsFile),
		[]byte("round,agent,metric,value,epsilon,delta\n0,mean,loss,much,0,0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	discarded := t.TempDir()
	if err := os.WriteFile(filepath.Join(discarded, "cells.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{empty: "no summary.json", broken: "rounds: found a text",
		metrics: `metrics.csv:2: value: found "much"`, discarded: "--discard-runs"} {
		_, _, err := report.Read(experiment.EngineVersion, []string{dir})
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("found error %v, want %q", err, want)
		}
	}
	_, _, err = report.Read(experiment.EngineVersion, []string{filepath.Join(empty, "nowhere")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What a page must say of runs that do not belong together.
func TestReportSaysWhatIsMixed(t *testing.T) {
	a, b := train(t, build(t), Options{}).Dir, train(t, build(t, "model.hidden=[4]"), Options{}).Dir
	var s map[string]any
	if err := json.Unmarshal(read(t, b, rundir.SummaryFile), &s); err != nil {
		t.Fatal(err)
	}
	s["engine"] = "1"
	changed, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(b, rundir.SummaryFile), changed, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := report.Read(experiment.EngineVersion, []string{a, b, a})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Mixed models", "made by engine 1", "1 run given twice",
		"2 runs in 2 settings"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
