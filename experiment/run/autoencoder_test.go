package run

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/rundir"
)

func tinyEncoder(t *testing.T, rounds, agents int, graph, algorithm string, step float64, privacy string,
	clip float64, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("a.toml",
		fmt.Appendf(nil, experimenttest.Autoencoder, rounds, agents, graph, algorithm, step,
			privacy, clip), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// An autoencoder trains privately with every algorithm, on data whose labels it does not
// read, and nothing of the run speaks of an accuracy.
func TestAutoencoderIsNoClassifier(t *testing.T) {
	for _, algorithm := range []string{"dsgd", "dsgt", "dinno", "local", "central"} {
		agents, graph := 3, "ring"
		if algorithm == "central" {
			agents, graph = 1, "complete"
		}
		res := train(t, tinyEncoder(t, 3, agents, graph, algorithm, .01, "noise_multiplier = 2.0", .1),
			Options{})
		s := &res.Summary
		if s.Accuracy != nil || !(s.Loss > 0) || math.IsInf(float64(s.Loss), 0) || s.Privacy[0].Charges < 2 {
			t.Errorf("%s: accuracy %v, loss %v, %d charges", algorithm, s.Accuracy, s.Loss,
				s.Privacy[0].Charges)
		}
		var table strings.Builder
		if err := s.WriteTable(&table); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"the table": table.String(),
			"metrics.csv":  string(read(t, res.Dir, rundir.MetricsFile)),
			"summary.json": string(read(t, res.Dir, rundir.SummaryFile)),
			"report.html":  string(read(t, res.Dir, rundir.ReportFile))} {
			if strings.Contains(strings.ToLower(text), "accuracy") {
				t.Errorf("%s: %s speaks of accuracy", algorithm, name)
			}
		}
	}
}

// Without noise it learns more than the mean image of the training records, whose error
// is computed here.
func TestAutoencoderLearns(t *testing.T) {
	e := tinyEncoder(t, 300, 2, "path", "dsgd", .003, "mechanism = \"none\"", 1e6, "algorithm.optimizer=adam",
		"model.activation=tanh", "model.hidden=[24, 8]")
	records, test := e.Task.Split.Train, e.Task.Split.Test
	mean := make([]float64, records.X.Cols)
	for i := range records.Len() {
		for j, x := range records.X.Row(i) {
			mean[j] += float64(x) / float64(records.Len())
		}
	}
	square := 0.
	for i := range test.Len() {
		for j, x := range test.X.Row(i) {
			d := float64(x) - mean[j]
			square += d * d / float64(len(mean)*test.Len())
		}
	}
	if loss := float64(train(t, e, Options{}).Summary.Loss); !(loss < .85*square) {
		t.Errorf("error %g, the mean image has %g", loss, square)
	}
}
