package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/model"
)

// The networks that come with the program belong to the run files that make them: 30,698
// parameters (416 + 32, 4,640 + 64, 18,496 + 128 in three convolutions and their norms,
// 1,152, 5,770) that classify images which they have not seen. Other weights, or another
// order of them, would guess: .1.
func TestBuiltinModels(t *testing.T) {
	for name, least := range map[string]float64{"glyphs": .97, "fashion-mnist": .87} {
		t.Run(name, func(t *testing.T) {
			set := []string{"model.init_from=builtin:" + name, "seed=99"}
			if name == "glyphs" {
				set = append(set, "data.train=10", "data.test=1000", "privacy.batch_size=5")
			}
			dir := os.Getenv("SOTTO_DATA")
			if _, err := os.Stat(filepath.Join(dir, name)); name != "glyphs" && (dir == "" || err != nil) {
				t.Skip("SOTTO_DATA not set: needs fashion-mnist")
			}
			f, err := experiment.Read("../../examples/pretrain-"+name+".toml", set)
			if err != nil {
				t.Fatal(err)
			}
			e, err := f.Build(dir)
			if err != nil {
				t.Fatal(err)
			}
			if e.Task.Model.Dim() != 30698 {
				t.Fatalf("%s: %d parameters", name, e.Task.Model.Dim())
			}
			if got := model.Evaluate(e.Task.Model, e.Task.Init, e.Task.Tests[0],
				new(model.Workspace)).Accuracy(); got <
				least {
				t.Errorf("%s: accuracy %g on images that it has not seen, want %g", name, got, least)
			}
		})
	}
	_, err := parse(t, "model.init_from=builtin:mnist").BuildWith("", drawn)
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "model.init_from" ||
		!strings.Contains(bad.Allowed, "builtin:fashion-mnist, builtin:glyphs") {
		t.Errorf("unknown model: %v", err)
	}
}
