package data_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
	"sotto/data"
)

// params decodes TOML strictly, as run files do.
func params(text string) func(any) error {
	return func(p any) error {
		d := toml.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(p)
	}
}

// dataDir returns the folder of real data sets, or skips.
func dataDir(t testing.TB, needs string) string {
	t.Helper()
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs " + needs)
	}
	return dir
}

func load(t testing.TB, name, dir, text string) *data.Split {
	t.Helper()
	s, err := data.Load(name, dir, 1, params(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for part, d := range map[string]*data.Dataset{"train": s.Train, "test": s.Test} {
		check(t, name+" "+part, d)
	}
	if s.Train.Digest == s.Test.Digest {
		t.Errorf("%s: both parts have the digest %s", name, s.Train.Digest)
	}
	return s
}

// check verifies what every data set promises.
func check(t testing.TB, name string, d *data.Dataset) {
	t.Helper()
	n := d.Len()
	if n == 0 || d.X.Cols != d.Shape[0]*d.Shape[1]*d.Shape[2] || len(d.X.Data) != n*d.X.Cols {
		t.Errorf("%s: %d records of %d columns, shape %v", name, n, d.X.Cols, d.Shape)
	}
	if (d.Labels == nil) == (d.Targets == nil) || d.Labels != nil && len(d.Labels) != n ||
		d.Targets != nil && len(d.Targets) != n {
		t.Errorf("%s: %d labels and %d targets for %d records", name, len(d.Labels), len(d.Targets), n)
	}
	if d.Labels != nil && (len(d.ClassNames) != d.Classes || int(slices.Max(d.Labels)) >= d.Classes ||
		slices.Min(d.Labels) < 0) {
		t.Errorf("%s: %d classes, %d names, labels %d to %d", name, d.Classes, len(d.ClassNames),
			slices.Min(d.Labels), slices.Max(d.Labels))
	}
	if d.Groups != nil && (len(d.Groups) != n || int(slices.Max(d.Groups)) >= len(d.GroupNames)) {
		t.Errorf("%s: groups of %d records up to %d, %d names", name, len(d.Groups), slices.Max(d.Groups),
			len(d.GroupNames))
	}
	for i := range n {
		if !d.X.Row(i).Finite() {
			t.Errorf("%s: record %d is not finite", name, i)
			return
		}
	}
	if len(d.Digest) != 64 {
		t.Errorf("%s: digest %q", name, d.Digest)
	}
}

func counts(labels []int32, classes int) []int {
	c := make([]int, classes)
	for _, l := range labels {
		c[l]++
	}
	return c
}

// wantBad fails unless err is a *config.Error for key.
func wantBad(t *testing.T, what string, err error, key string) {
	t.Helper()
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != key {
		t.Errorf("%s: error %v, want a config.Error for %s", what, err, key)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ name, params, key string }{
		{"imagenet", "", "name"},
		{"mnist", "resize = 3", "resize"},
		{"mnist", "resize = 1000", "resize"},
		{"mnist", "limit = -1", "limit"},
		{"mnist", "test_limit = -1", "test_limit"},
		{"glyphs", "train = 0", "train"},
		{"glyphs", "test = 1000000000", "test"},
		{"glyphs", "resize = -1", "resize"},
	} {
		_, err := data.Load(c.name, t.TempDir(), 1, params(c.params))
		wantBad(t, c.name+" "+c.params, err, c.key)
	}
	for name := range data.Datasets {
		if _, err := data.Load(name, t.TempDir(), 1, params("colour = 1")); err == nil ||
			errors.Is(err, data.ErrMissing) {
			t.Errorf("%s accepts an unknown parameter: %v", name, err)
		}
	}
}

func TestSelect(t *testing.T) {
	s := load(t, "glyphs", "", "train = 10\ntest = 5")
	d := s.Train.Select([]int32{7, 2})
	if d.Len() != 2 || d.Labels[0] != s.Train.Labels[7] || !slices.Equal(d.X.Row(1), s.Train.X.Row(2)) ||
		d.Groups != nil {
		t.Errorf("selected %d records with labels %v", d.Len(), d.Labels)
	}
	d.X.Row(0)[0] = 99
	if s.Train.X.Row(7)[0] == 99 {
		t.Error("a selection shares its records")
	}
}
