package run

import (
	"errors"
	"testing"

	"sotto/config"
	"sotto/experiment"
)

// Data sets whose test part one record more would draw anew are refused under add-remove,
// before their files are looked for.
func TestOneByOneOrRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, key string
		set       []string
	}{
		"movielens":    {ratingsFile, "data.dataset", nil},
		"made-ratings": {ratingsFile, "data.dataset", []string{"data.dataset=made-ratings"}},
		"houses": {centralFile, "data.dataset",
			[]string{"data.dataset=houses", "model.name=logistic"}},
		"adult-a9a": {centralFile, "data.limit",
			[]string{"data.dataset=adult-a9a", "model.name=logistic", "data.limit=100"}},
		"parkinsons": {centralFile, "data.limit",
			[]string{"data.dataset=parkinsons", "model.name=huber", "data.limit=100"}},
	} {
		set := append([]string{"privacy.adjacency=add-remove", "privacy.batch_size=10"}, c.set...)
		if got := refusedKey(c.file, set); got != c.key {
			t.Errorf("%s: %q is refused, want %s", name, got, c.key)
		}
		set[0] = "privacy.adjacency=zero-out"
		if got := refusedKey(c.file, set); got == c.key {
			t.Errorf("%s: refused under zero-out too", name)
		}
	}
}

// How many recordings one person has draws anew which ones of others are tested on: under
// zero-out alone all persons keep their places.
func TestPersonsRecordings(t *testing.T) {
	for _, c := range []struct {
		key string
		set []string
	}{
		{"data.holdout", []string{"privacy.adjacency=add-remove", "privacy.batch_size=10"}},
		{"data.holdout", []string{"privacy.adjacency=replace-one"}},
		{"", []string{"privacy.adjacency=add-remove", "privacy.batch_size=10", "data.holdout=people"}},
		{"", []string{"privacy.adjacency=zero-out"}},
	} {
		if got := refusedKey(centralFile, append(voices[:len(voices):len(voices)], c.set...)); got != c.key {
			t.Errorf("%v: %q is refused, want %q", c.set, got, c.key)
		}
	}
}

// voices protects persons, some of whose recordings are tested on.
var voices = []string{"data.dataset=parkinsons", "data.holdout=records", "data.partition=natural",
	"data.unit_column=subject#", "privacy.unit=person", "privacy.max_rows_per_person=8", "model.name=huber",
	"data.merge_groups=true"}

// centralFile is one agent that answers with sums of sampled records or persons.
const centralFile = `rounds = 5
[topology]
agents = 1
graph = "complete"
[data]
[model]
[algorithm]
name = "central"
step_size = 0.1
[privacy]
sample_rate = 0.2
noise_multiplier = 5.0
target_delta = 1e-3
max_grad_norm = 1.0
`

// refusedKey is the key that a run file is refused for when nothing but the run file is
// there; "" for none.
func refusedKey(file string, set []string) string {
	f, err := experiment.Parse("refused.toml", []byte(file), set)
	if err == nil {
		_, err = f.Build("nowhere")
	}
	var bad *config.Error
	if errors.As(err, &bad) {
		return bad.Key
	}
	return ""
}
