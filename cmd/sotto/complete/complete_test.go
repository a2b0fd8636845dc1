package complete

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/runfile"
)

// Every key that is offered is known to a run of that file, and every key that the
// built-in run has in force is offered.
func TestKeysAreThoseOfRunFiles(t *testing.T) {
	offered := settings("", nil, "")
	f, err := experiment.Read("", nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	d, err := runfile.Parse("effective", e.Effective)
	if err != nil {
		t.Fatal(err)
	}
	inForce := d.Values()
	if len(inForce) < 20 {
		t.Errorf("%d keys are in force", len(inForce))
	}
	for key := range inForce {
		if !slices.Contains(offered, key+"=") {
			t.Errorf("%s is in force and not offered", key)
		}
	}
	for _, key := range []string{"clock.wakes=", "privacy.reserve=", "faults.attack=", "replication.claim="} {
		if !slices.Contains(offered, key) {
			t.Errorf("%s is not offered", key)
		}
	}
	if slices.Contains(offered, "data.alpha=") { // of partition dirichlet
		t.Error("data.alpha is offered for partition by-class")
	}
	if now := settings("", []string{"data.partition=dirichlet"}, ""); !slices.ContainsFunc(now,
		func(k string) bool { return k == "data.beta=" || k == "data.alpha=" }) {
		t.Errorf("partition dirichlet has no parameter among %v", now)
	}
}

// Values that are offered are no values that the key refuses. One that needs other keys
// beside it is refused for these.
func TestValuesAreAllowed(t *testing.T) {
	asked := 0
	for _, key := range settings("", nil, "") {
		name := strings.TrimSuffix(key, "=")
		for _, s := range settings("", nil, key) {
			asked++
			_, err := experiment.Read("", []string{s})
			var bad *config.Error
			if errors.As(err, &bad) && bad.Key == name && strings.HasPrefix(bad.Allowed, "one of ") &&
				!strings.Contains(bad.Allowed, strings.Trim(strings.TrimPrefix(s, key), "[']")) {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
	if asked < 60 {
		t.Errorf("%d values are offered", asked)
	}
}

func TestPathsOfRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"runs/a/config.toml", "runs/b.partial/state", "state/config.toml",
		"data/mnist/x", "one.toml", "sub/two.toml", ".hidden/config.toml", "plain.txt"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	here, _ := os.Getwd()
	for word, want := range map[string]string{"": "data/ runs/a state sub/", "ru": "runs/a",
		"runs/": "runs/a runs/b.partial/", "sta": "state", "nowhere/": "", here + "/sta": here + "/state"} {
		if got := strings.Join(runs(nil, nil, word), " "); got != want {
			t.Errorf("runs of %q: %q, want %q", word, got, want)
		}
	}
	if got := strings.Join(tomlFiles(nil, nil, ""), " "); got != "data/ one.toml runs/ state/config.toml "+
		"sub/two.toml" {
		t.Errorf("files: %s", got)
	}
}
