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
