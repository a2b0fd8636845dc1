package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
)

const scattered = `
rounds = 12
[topology]
agents = 3
[data]
dataset = "cifar-100"
full = "full"
allow_altered = true
coarse = true
features = "scattering"
[algorithm]
schedule = "const"
step_size = 0.05
[privacy]
mechanism = "none"
sample_rate = 1.0
max_grad_norm = 1e6
`

// brightness writes images of two brightnesses and textures, whose labels are 3 and 5.
func brightness(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.bin", "test.bin"} {
		var b bytes.Buffer
		for i := range 40 {
			b.Write([]byte{byte(3 + i%2*2), 0})
			for k := range 3 * 32 * 32 {
				v := 100 + i%7
				if i%2 == 1 {
					v += k % 2 * 60
				} else {
					v += k / 32 % 2 * 60
				}
				b.WriteByte(byte(v))
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "full", name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Linear and small models train on scattering features and tell two textures apart. The
// configuration that is left repeats the run.
func TestModelsOfFeatures(t *testing.T) {
	dir := brightness(t)
	for name, set := range map[string][]string{
		"logistic": {`model.name="logistic"`, "data.feature_norm=1", "algorithm.step_size=20"},
		"mlp":      {`model.name="mlp"`, "model.hidden=[8]"},
		"cnn": {`model.name="layers"`, `model.layers=[{kind="conv2d", filters=4, kernel=3, padding=1}, ` +
			`{kind="relu"}, {kind="adaptive-avgpool", size=2}, {kind="flatten"}, ` +
			`{kind="linear", units=20}]`, "rounds=40", "algorithm.step_size=0.2"},
	} {
		f, err := experiment.Parse(name, []byte(scattered), set)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith(dir, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		result := train(t, e, Options{Workers: 1})
		if a := result.Summary.Accuracy; float64(a.Min) < .99 {
			t.Errorf("%s: accuracy %v", name, a.Min)
		}
		f, err = experiment.Parse("again", read(t, result.Dir, rundir.ConfigFile), nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.BuildWith(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Identity() != e.Identity() {
			t.Errorf("%s: config.toml is another run", name)
		}
	}
}

// Features are computed once for each record, so that there are no views of images; and
// the bound of features is none of what a public body makes of them.
func TestFeaturesOnce(t *testing.T) {
	dir := brightness(t)
	build := func(set ...string) (*experiment.Experiment, error) {
		f, err := experiment.Parse("once", []byte(scattered), set)
		if err != nil {
			t.Fatal(err)
		}
		return f.BuildWith(dir, nil)
	}
	_, err := build(`model.name="logistic"`, "data.augmentations=2", "data.augment_shift=1")
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "data.augmentations" {
		t.Errorf("views of features: %v", err)
	}
	mlp := []string{`model.name="mlp"`, "model.hidden=[8]"}
	e, err := build(mlp...)
	if err != nil {
		t.Fatal(err)
	}
	if e.Task.Split.Train.RowNorm == 0 {
		t.Error("features have no bound")
	}
	path := filepath.Join(train(t, e, Options{Workers: 1}).Dir, rundir.ModelFile)
	e, err = build(slices.Concat(mlp, []string{"model.train_layers=1", "model.init_from=" + path})...)
	if err != nil {
		t.Fatal(err)
	}
	if x := e.Task.Split.Train.RowNorm; x != 0 {
		t.Errorf("the bound %g of the features is kept for the outputs of a body", x)
	}
}
