package sweep

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
)

const together3 = `
[sweep]
privacy = [{mechanism = "none"}, {noise_multiplier = 2.0, max_grad_norm = 0.5}]
seed = [1, 2]
`

// A section stands for several keys at once: a run without noise beside private ones.
func TestSectionAsAxis(t *testing.T) {
	base := strings.Replace(strings.Split(tinySweep, "[sweep]")[0], `mechanism = "none"`,
		"target_delta = 1e-3", 1)
	s, err := Parse("tiny.toml", []byte(base+together3), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Cells() {
		got = append(got, s.describe(i))
	}
	want := []string{
		"privacy=mechanism=none seed=1", "privacy=mechanism=none seed=2",
		"privacy=max_grad_norm=0.5 noise_multiplier=2.0 seed=1",
		"privacy=max_grad_norm=0.5 noise_multiplier=2.0 seed=2",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	res, err := s.Run(context.Background(), Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res.Rows {
		if private := i >= 2; private == math.IsInf(r.EpsilonUpper, 1) ||
			private != (r.Noise == 2) {
			t.Errorf("cell %d: epsilon %v, noise %v", i, r.EpsilonUpper, r.Noise)
		}
	}
	f, err := s.Cell(3)
	if err != nil || f.Privacy.MaxGradNorm != .5 || f.Privacy.BatchSize != 10 || f.Run.Seed != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBadSections(t *testing.T) {
	base := strings.Split(tinySweep, "[sweep]")[0]
	for section, key := range map[string]string{
		"privacy = [{}]": "sweep.privacy",
		"privacy = [{max_grad_norm = 1.0}]\nprivacy.max_grad_norm = [1.0]":         "",
		"privacy = [{max_grad_norm = 1.0}, {max_grad_norm = 1.0}]":                 "sweep.privacy",
		"topology = [{wake = \"pairwise\"}]\n\"topology.activation\" = [\"pair\"]": "sweep.topology.wake",
	} {
		_, err := Parse("f.toml", []byte(base+"[sweep]\n"+section), nil, nil)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v, want key %s", section, err, key)
		}
	}
	_, err := Parse("f.toml", []byte(base+"[sweep]\nprivacy = [{max_grad_norm = 1.0}]"), nil,
		[]string{"privacy.max_grad_norm=1,2"})
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "sweep.privacy.max_grad_norm" {
		t.Errorf("one key by a section and a flag: %v", err)
	}
}
