package run

import (
	"errors"
	"math"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

// Runs of one uniform record an answer have the same bytes for any number of workers,
// with noise, as published and without.
func TestOneRecordRuns(t *testing.T) {
	for _, set := range [][]string{
		{"privacy.noise_multiplier=0.5", "privacy.target_epsilon=0", "replication.claim=true"},
		{"privacy.noise_multiplier=0.5", "privacy.target_epsilon=0", "replication.claim=true",
			"replication.noise=adad2p"},
		{"privacy.mechanism=none", "privacy.target_epsilon=0"},
	} {
		e := build(t, append(set, "algorithm.name=sgp", "algorithm.step_size=0.01",
			"topology.graph=exp-directed", "replication.sampling=one",
			"privacy.adjacency=replace-one", "privacy.batch_size=1", "evaluate.gradients=50")...)
		one, two := train(t, e, Options{Workers: 1}), train(t, e, Options{Workers: 2})
		sameFiles(t, one.Dir, two.Dir)
	}
}

func TestOneRecordRefusals(t *testing.T) {
	one := []string{"replication.sampling=one", "replication.claim=true", "privacy.adjacency=replace-one",
		"privacy.batch_size=1"}
	for key, more := range map[string][]string{
		"replication.sampling":     {"privacy.adjacency=zero-out"},
		"replication.microbatches": {"replication.microbatches=2"},
		"evaluate.gradients":       {"evaluate.gradients=-1"},
	} {
		_, err := experiment.Parse("small.toml", []byte(small), append(append([]string{}, one...), more...))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want a config.Error on %s", more, err, key)
		}
	}
	for _, more := range []string{"replication.claim=false", "privacy.batch_size=2", "privacy.accountant=pld",
		"replication.sampling=two"} {
		_, err := experiment.Parse("small.toml", []byte(small), append(append([]string{}, one...), more))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "replication.sampling" {
			t.Errorf("%s: %v, want a config.Error on replication.sampling", more, err)
		}
	}
}

// The figures of training records at round 0, where all models are equal, against losses
// alone: the derivative of the mean loss along the mean gradient is its norm, to 2 % by a
// central difference in float32; the root mean square norm is between it and the largest.
func TestGradientFigures(t *testing.T) {
	e := build(t, "evaluate.gradients=40", "evaluate.every=12", "model.activation=tanh")
	res := train(t, e, Options{Workers: 1})
	rows, err := rundir.ReadMetrics(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rows {
		if r.Round == 0 {
			got[r.Metric] = r.Value
		}
	}
	var all, probe []int32
	for _, part := range e.Task.Parts {
		all = append(all, part...)
	}
	for k := range 40 { // evenly spaced among those of all agents
		probe = append(probe, all[k*len(all)/40])
	}
	batch := oracle.BatchOf(e.Task.Split.Train.Select(probe))
	var scratch model.Workspace
	mean := make(tensor.Vec, e.Task.Model.Dim())
	e.Task.Model.ClippedGradientSum(mean, e.Task.Init, batch, math.Inf(1), &scratch)
	mean.Scale(1./40, mean)
	loss := func(step float64) float64 {
		at := make(tensor.Vec, len(mean))
		for k := range at {
			at[k] = e.Task.Init[k] + float32(step/mean.Norm())*mean[k]
		}
		return model.Evaluate(e.Task.Model, at, batch, &scratch).Loss
	}
	if want := loss(0); math.Abs(got["train_loss"]-want) > 1e-5*want {
		t.Errorf("train_loss %v, want %v", got["train_loss"], want)
	}
	const h = 1e-2
	if want := (loss(h) - loss(-h)) / (2 * h); math.Abs(got["gradient_norm"]-want) > .02*want {
		t.Errorf("gradient_norm %v, want %v", got["gradient_norm"], want)
	}
	if !(got["gradient_norm"] < got["gradient_rms"] && got["gradient_rms"] < got["gradient_max"]) {
		t.Errorf("norm %v, root mean square %v, largest %v", got["gradient_norm"], got["gradient_rms"],
			got["gradient_max"])
	}
}

// Where no record has a finite gradient, as after steps that are far too long, there are
// no figures: zeros would look like a model that has learned everything.
func TestGradientFiguresOfNothing(t *testing.T) {
	res := train(t, build(t, "evaluate.gradients=40", "algorithm.step_size=1e30"), Options{Workers: 1})
	rows, err := rundir.ReadMetrics(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	last := rows[len(rows)-1].Round
	found := 0
	for _, r := range rows {
		switch r.Metric {
		case "train_loss", "gradient_norm", "gradient_rms", "gradient_max":
			if r.Round == last {
				found++
				if !math.IsNaN(r.Value) {
					t.Errorf("%s is %v at the end", r.Metric, r.Value)
				}
			} else if r.Round == 0 && math.IsNaN(r.Value) {
				t.Errorf("%s is %v at the start", r.Metric, r.Value)
			}
		}
	}
	if found != 4 || last == 0 {
		t.Errorf("%d figures at round %d", found, last)
	}
}
