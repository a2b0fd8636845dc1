package attack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sotto/config"
)

// Without noise the mlp's image is that of the owner up to rounding and the convnet's is
// like it (correlation above .8), with the right label; noise as large as the clip leaves
// nothing. Independent of our arithmetic: the images are compared with the data set's.
func TestInvert(t *testing.T) {
	for name, least := range map[string]float64{"mlp": .99999, "convnet": .8} {
		r, err := Invert(context.Background(), InvertOptions{
			Dataset: "glyphs",
			Model:   name,
			Record:  3,
			Noise:   []float64{0, 1},
			Seed:    2,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", name, []float64{r.Rows[0].Correlation, r.Rows[0].Error, r.Rows[1].Correlation,
			r.Rows[1].Error})
		if got := r.Rows[0]; got.Correlation < least || got.Label != r.Label {
			t.Errorf("%s without noise: correlation %v, label %d of %d", name, got.Correlation, got.Label,
				r.Label)
		}
		if got := r.Rows[1]; got.Correlation > .3 {
			t.Errorf("%s with noise 1: correlation %v", name, got.Correlation)
		}
		dir := t.TempDir()
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"original.png", "noise-0.png", "noise-1.png", "invert.html"} {
			if i, err := os.Stat(filepath.Join(dir, file)); err != nil || i.Size() < 100 {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestInvertRefuses(t *testing.T) {
	for key, o := range map[string]InvertOptions{
		"dataset": {Dataset: "heart", Model: "mlp"}, "record": {Dataset: "glyphs", Model: "mlp", Record: -1},
		"model": {Dataset: "glyphs", Model: "resnet18"},
		"noise": {Dataset: "glyphs", Model: "mlp", Noise: []float64{-1}},
	} {
		_, err := Invert(context.Background(), o)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}
