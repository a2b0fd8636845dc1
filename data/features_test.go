package data_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"sotto/data"
	"sotto/data/scattering"
	"sotto/internal/long"
	"sotto/tensor"
)

// cifarFiles writes train.bin and test.bin of n records of CIFAR-100 each, and returns
// the first's bytes.
func cifarFiles(t *testing.T, dir string, n int) []byte {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var parts [2][]byte
	for k, name := range []string{"train.bin", "test.bin"} {
		for range n {
			record := make([]byte, 3074)
			record[0], record[1] = byte(r.IntN(20)), byte(r.IntN(100))
			level := r.IntN(200)
			for i := 2; i < len(record); i++ {
				record[i] = byte(level + r.IntN(50))
			}
			parts[k] = append(parts[k], record...)
		}
		if err := os.WriteFile(filepath.Join(dir, name), parts[k], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return parts[0]
}

// The features are those of package scattering for the pixels that are read otherwise,
// whatever the number of processors, and have a digest and a bound of their own.
func TestScatteringFeatures(t *testing.T) {
	dir := t.TempDir()
	const n = 150
	cifarFiles(t, filepath.Join(dir, "full"), n)
	at := "full = \"full\"\nallow_altered = true\n"
	pixels := load(t, "cifar-100", dir, at)
	s := load(t, "cifar-100", dir, at+"features = \"scattering\"")
	d := s.Train
	if d.Shape != [3]int{8, 8, 243} || d.Len() != n || d.RowNorm != math.Sqrt(8*8*243) ||
		s.Features != "scattering" || pixels.Features != "" || pixels.Train.RowNorm != 0 {
		t.Errorf("shape %v, norm %v, features %q", d.Shape, d.RowNorm, s.Features)
	}
	if !slices.Equal(d.Labels, pixels.Train.Labels) || d.Digest == pixels.Train.Digest {
		t.Error("other labels, or the digest of pixels")
	}
	tr, err := scattering.New(32, 32)
	if err != nil {
		t.Fatal(err)
	}
	row := make(tensor.Vec, d.X.Cols)
	for i := range n {
		tr.Image(row, pixels.Train.X.Row(i), 3, new(scattering.Scratch))
		scattering.Normalize(row, 3, 27)
		if !slices.Equal(row, d.X.Row(i)) {
			t.Fatalf("record %d differs", i)
		}
		if norm := row.Norm(); norm > d.RowNorm || norm < 1 {
			t.Errorf("record %d: norm %v", i, norm)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if one := load(t, "cifar-100", dir, at+"features = \"scattering\""); !slices.Equal(one.Train.X.Data,
		d.X.Data) {
		t.Error("the features depend on the number of processors")
	}
	explicit := load(t, "cifar-100", dir, at+"features = \"scattering\"\nfeature_groups = 27")
	if explicit.Train.Digest != d.Digest {
		t.Error("the default has another digest than its value")
	}
	unit := load(t, "cifar-100", dir, at+"features = \"scattering\"\nfeature_norm = 1\nfeature_groups = 9")
	if unit.Train.Digest == d.Digest || unit.Train.RowNorm != 1 {
		t.Errorf("norm %v", unit.Train.RowNorm)
	}
	for i := range n {
		if norm := unit.Train.X.Row(i).Norm(); norm > 1 || norm < .99999 {
			t.Errorf("record %d: norm %v, want 1", i, norm)
		}
	}
	if named := load(t, "cifar-100", dir, at+"features = \"pixels\""); named.Train.Digest !=
		pixels.Train.Digest {
		t.Error("pixels by name have another digest")
	}
}

// Whitened records are the components that package scattering makes of the features,
// scaled, whatever the number of processors; a record's do not depend on its company.
// Images have 16 x 16 pixels, 32 x 32 with the tag long.
func TestWhitenedFeatures(t *testing.T) {
	dir := t.TempDir()
	const n, size = 120, 40
	side, resized := 16, "resize = 16\n"
	if long.Tests {
		side, resized = 32, ""
	}
	cifarFiles(t, filepath.Join(dir, "full"), n)
	at := resized + "full = \"full\"\nallow_altered = true\nfeatures = \"scattering\"\nfeature_norm = 2.0\n"
	plain := load(t, "cifar-100", dir, at)
	white := at + "feature_whiten = 0.5\nfeature_size = 40\n"
	s := load(t, "cifar-100", dir, white)
	d := s.Train
	if d.Shape != [3]int{1, 1, size} || d.RowNorm != 2 || d.Digest == plain.Train.Digest {
		t.Errorf("shape %v, norm %v", d.Shape, d.RowNorm)
	}
	tr, err := scattering.New(side, side)
	if err != nil {
		t.Fatal(err)
	}
	// on one processor: the components do not depend on their number
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w, err := scattering.NewWhitening(tr, scattering.Pixels{Channels: 3, Mean: []float64{.5071, .4865, .4409},
		Std: []float64{.2673, .2564, .2762}}, 27, .5, size)
	if err != nil {
		t.Fatal(err)
	}
	pixels := load(t, "cifar-100", dir, resized+"full = \"full\"\nallow_altered = true\n")
	all, row := make(tensor.Vec, tr.Size(3)), make(tensor.Vec, size)
	for i := range n {
		tr.Image(all, pixels.Train.X.Row(i), 3, new(scattering.Scratch))
		scattering.Normalize(all, 3, 27)
		w.Apply(row, all, new(scattering.WhiteningScratch))
		scattering.ScaleTo(row, 2)
		if !slices.Equal(row, d.X.Row(i)) {
			t.Fatalf("record %d differs", i)
		}
	}
}

func TestFeaturesRefused(t *testing.T) {
	const scattered = "features = \"scattering\"\n"
	for _, c := range []struct{ name, params, key string }{
		{"mnist", "features = \"wavelets\"", "features"},
		{"mnist", "feature_groups = 27", "feature_groups"},
		{"mnist", "features = \"pixels\"\nfeature_norm = 1.0", "feature_norm"},
		{"mnist", scattered + "feature_groups = 2", "feature_groups"},
		{"fashion-mnist", scattered + "feature_groups = 243", "feature_groups"},
		{"cifar-10", scattered + "feature_groups = -1", "feature_groups"},
		{"cifar-100", scattered + "feature_norm = -1.0", "feature_norm"},
		{"cifar-10", scattered + "resize = 4", "resize"},
		{"mnist", scattered + "resize = 30", "resize"},
		{"mnist", "feature_whiten = 0.5", "feature_whiten"},
		{"mnist", "feature_size = 100", "feature_size"},
		{"mnist", scattered + "feature_norm = 1.0\nfeature_whiten = 1.5", "feature_whiten"},
		{"mnist", scattered + "feature_norm = 1.0\nfeature_size = 3970", "feature_size"},
		{"cifar-10", scattered + "feature_norm = 1.0\nfeature_size = -1", "feature_size"},
		{"cifar-10", scattered + "feature_whiten = 0.5", "feature_norm"},
	} {
		_, err := data.Load(c.name, t.TempDir(), 1, params(c.params))
		wantBad(t, c.name+" "+c.params, err, c.key)
	}
	for _, name := range []string{"glyphs", "adult-a9a", "csv", "linear-tasks"} {
		if _, err := data.Load(name, t.TempDir(), 1, params(scattered)); err == nil ||
			errors.Is(err, data.ErrMissing) {
			t.Errorf("%s has scattering features: %v", name, err)
		}
	}
}

// Where full leads, files are read that are whole; others are refused.
func TestFullCIFAR100(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "elsewhere")
	_, err := data.Load("cifar-100", dir, 1, params("full = \"elsewhere\""))
	if !errors.Is(err, data.ErrMissing) {
		t.Errorf("no files: %v", err)
	}
	raw := cifarFiles(t, at, 7)
	_, err = data.Load("cifar-100", dir, 1, params("full = \"elsewhere\""))
	if !errors.Is(err, data.ErrAltered) {
		t.Errorf("other files: %v", err)
	}
	s := load(t, "cifar-100", t.TempDir(), "full = '"+at+"'\nallow_altered = true\ncoarse = true")
	if s.Train.Len() != 7 || s.Train.Labels[1] != int32(raw[3074]) || s.Train.Classes != 20 {
		t.Errorf("%d records, labels %v", s.Train.Len(), s.Train.Labels)
	}
	if err := os.WriteFile(filepath.Join(at, "train.bin"), bytes.Clone(raw[:3073]), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = data.Load("cifar-100", dir, 1, params("full = \"elsewhere\"\nallow_altered = true"))
	wantBad(t, "a part of a record", err, "byte 0")
}
