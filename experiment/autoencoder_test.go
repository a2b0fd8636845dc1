package experiment

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/experiment/rundir"
)

const tinyAutoencoder = `
rounds = %d
topology.agents = %d
topology.graph = "%s"
data.train = 300
data.test = 60
algorithm.name = "%s"
algorithm.step_size = %g
[model]
name = "autoencoder"
hidden = [12, 5]
[privacy]
%s
max_grad_norm = %g
batch_size = 20
target_delta = 1e-3
`

func tinyEncoder(t *testing.T, rounds, agents int, graph, algorithm string, step float64, privacy string,
	clip float64, set ...string) *Experiment {
	t.Helper()
	f, err := Parse("a.toml", fmt.Appendf(nil, tinyAutoencoder, rounds, agents, graph, algorithm, step,
		privacy, clip), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
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
		res := run(t, tinyEncoder(t, 3, agents, graph, algorithm, .01, "noise_multiplier = 2.0", .1),
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
		if r := newCellRow(0, nil, s); !math.IsNaN(r.Accuracy.Mean) {
			t.Errorf("%s: a sweep's row has accuracy %g", algorithm, r.Accuracy.Mean)
		}
	}
}

// Without noise it learns more than the mean image of the training records, whose error
// is computed here.
func TestAutoencoderLearns(t *testing.T) {
	e := tinyEncoder(t, 300, 2, "path", "dsgd", .003, "mechanism = \"none\"", 1e6, "algorithm.optimizer=adam",
		"model.activation=tanh", "model.hidden=[24, 8]")
	train, test := e.Task.Split.Train, e.Task.Split.Test
	mean := make([]float64, train.X.Cols)
	for i := range train.Len() {
		for j, x := range train.X.Row(i) {
			mean[j] += float64(x) / float64(train.Len())
		}
	}
	square := 0.
	for i := range test.Len() {
		for j, x := range test.X.Row(i) {
			d := float64(x) - mean[j]
			square += d * d / float64(len(mean)*test.Len())
		}
	}
	if loss := float64(run(t, e, Options{}).Summary.Loss); !(loss < .85*square) {
		t.Errorf("error %g, the mean image has %g", loss, square)
	}
}

func TestSearchForAnAutoencoder(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(tinyAutoencoder, 2, 2, "path", "dsgd", .1, "mechanism = \"none\"",
		1.), "[model]", "[tune]\ntrials = 2\nMETRIC\n[tune.space]\nalgorithm.step_size = { log = [0.01, "+
		"1.0] }\n[model]", 1)
	parse := func(metric string) (*Tuning, error) {
		return ParseTuning("a.toml", []byte(strings.Replace(text, "METRIC", metric, 1)), nil, nil)
	}
	s, err := parse("metric = \"loss\"")
	if err != nil {
		t.Fatal(err)
	}
	res := search(t, s, TuneOptions{})
	other := res.Rows[2-res.Best.Trial]
	if !(res.Best.Loss < other.Loss) || res.Best.Score != -res.Best.Loss ||
		float64(*res.Score) != res.Best.Loss {
		t.Errorf("best %+v, other %+v", res.Best, other)
	}
	if s, err = parse(""); err == nil {
		_, err = s.Run(context.Background(), TuneOptions{Out: t.TempDir()})
	}
	if err == nil || !strings.Contains(err.Error(), "tune.metric") {
		t.Errorf("accuracy of an autoencoder: %v", err)
	}
	if _, err := Read("../examples/autoencoder.toml", nil); err != nil {
		t.Error(err)
	}
}
