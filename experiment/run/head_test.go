package run

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/experiment/trained"
	"sotto/model"
)

// A run of the head trains, sends and is charged for the head alone; its model file is
// the whole model, in which the rest is what init_from held.
func TestTrainLayers(t *testing.T) {
	first := train(t, build(t, "faults.drop=0"), Options{})
	path := filepath.Join(first.Dir, rundir.ModelFile)
	whole := build(t, "model.init_from="+path)
	e := build(t, "model.init_from="+path, "model.train_layers=1")
	const head = 8*10 + 10
	at := whole.Task.Model.Dim() - head
	if e.Task.Model.Dim() != head || !slices.Equal(e.Task.Init, whole.Task.Init[at:]) {
		t.Fatalf("%d parameters are trained, want the %d of the last layer, from init_from",
			e.Task.Model.Dim(),
			head)
	}
	result := train(t, e, Options{Workers: 2})
	again := train(t, build(t, "model.init_from="+path, "model.train_layers=1"), Options{Workers: 1})
	for _, name := range deterministic {
		if !slices.Equal(read(t, result.Dir, name), read(t, again.Dir, name)) {
			t.Errorf("%s depends on the number of workers", name)
		}
	}
	meta, agents, err := model.DecodeSafetensors(read(t, result.Dir, rundir.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	if meta["samples"] != "28x28x1, 10 classes" {
		t.Errorf("the model takes %q", meta["samples"])
	}
	for _, a := range agents {
		if !slices.Equal(a.Vec[:at], whole.Task.Init[:at]) {
			t.Errorf("%s: layers that are not trained have changed", a.Name)
		}
		if slices.Equal(a.Vec[at:], whole.Task.Init[at:]) {
			t.Errorf("%s: the last layer has not changed", a.Name)
		}
	}
	// What the run printed is what the whole model does on the images.
	test := whole.Task.Tests[0]
	got := model.Evaluate(whole.Task.Model, agents[0].Vec, test, new(model.Workspace))
	if want := result.Summary.Accuracy; got.Accuracy() < float64(want.Min) ||
		got.Accuracy() > float64(want.Max) {
		t.Errorf("agent 0's whole model has accuracy %g, the run printed %g to %g", got.Accuracy(), want.Min,
			want.Max)
	}
	m, err := trained.Load(result.Dir, "0")
	if err == nil {
		_, err = m.Export("onnx")
	}
	if err != nil {
		t.Error(err)
	}
}

func TestTrainLayersRefuses(t *testing.T) {
	path := filepath.Join(train(t, build(t), Options{}).Dir, rundir.ModelFile)
	for name, tc := range map[string]struct {
		set []string
		key string
	}{
		"nothing public": {[]string{"model.train_layers=1"}, "model.train_layers"},
		"all":            {[]string{"model.train_layers=2", "model.init_from=" + path}, "model.train_layers"},
		"negative": {[]string{"model.train_layers=-1", "model.init_from=" + path},
			"model.train_layers"},
		"views": {[]string{"model.train_layers=1", "model.init_from=" + path, "data.augmentations=2",
			"data.augment_shift=1"}, "data.augmentations"},
	} {
		_, err := parse(t, tc.set...).BuildWith("", drawn)
		var e *config.Error
		if !errors.As(err, &e) || e.Key != tc.key {
			t.Errorf("%s: %v", name, err)
		}
	}
}
