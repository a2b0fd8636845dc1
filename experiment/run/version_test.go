package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/trained"
	"sotto/model"
)

// Directories that another version has left are refused by name, not read as if they were
// of this one.
func TestDirectoriesOfAnotherVersion(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := noisy(t)
	_, err := Run(ctx, e, Options{Out: t.TempDir(), Progress: func(uint64, uint64, string) { cancel() }})
	var halt *Interrupted
	if !errors.As(err, &halt) {
		t.Fatal(err)
	}
	at := filepath.Join(halt.Dir, rundir.CheckpointFile)
	good := read(t, halt.Dir, rundir.CheckpointFile)
	foreign := bytes.Replace(good, []byte(e.Identity()), []byte(strings.Repeat("0", len(e.Identity()))), 1)
	if bytes.Equal(foreign, good) {
		t.Fatal("a checkpoint does not say what run it is of")
	}
	os.WriteFile(at, foreign, 0o644)
	_, err = Resume(context.Background(), halt.Dir, "", Options{})
	if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), halt.Dir) ||
		!strings.Contains(err.Error(), "another engine version than "+experiment.EngineVersion) {
		t.Errorf("a checkpoint of another version: %v", err)
	}
	os.WriteFile(at, bytes.Replace(good, []byte(checkpointTag), []byte("sotto run checkpoint/0"), 1), 0o644)
	if _, err = Resume(context.Background(), halt.Dir, "", Options{}); !errors.Is(err, ErrCheckpoint) ||
		!strings.Contains(err.Error(), halt.Dir) {
		t.Errorf("a checkpoint of another form: %v", err)
	}
	cfg := read(t, halt.Dir, rundir.ConfigFile)
	os.WriteFile(filepath.Join(halt.Dir, rundir.ConfigFile), append([]byte("rotations = 3\n"), cfg...), 0o644)
	os.WriteFile(at, good, 0o644)
	var bad *config.Error
	if _, err = Resume(context.Background(), halt.Dir, "", Options{}); !errors.As(err, &bad) ||
		bad.Key != "rotations" || bad.Line != 1 {
		t.Errorf("a configuration with a key of another version: %v", err)
	}

	done := train(t, noisy(t), Options{}).Dir
	weights, err := model.EncodeSafetensors(nil, []model.NamedVec{{Name: "agent.0", Vec: make([]float32, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(done, rundir.ModelFile), weights, 0o644)
	if _, err := trained.Load(done, "0"); err == nil || !strings.Contains(err.Error(), rundir.ModelFile) ||
		!strings.Contains(err.Error(), "another version") {
		t.Errorf("a model file of another version: %v", err)
	}
}

// What a run file can ask of graphs and partitions but cannot have.
func TestImpossibleGraphsAndPartitions(t *testing.T) {
	for name, tc := range map[string]struct {
		set  []string
		want []string
	}{
		"Fiedler value": {[]string{"topology.graph=er-fiedler", "topology.target=0.97",
			"topology.tolerance=0.01"}, []string{"topology.target", "0.97", "the closest value reached is"}},
		"above complete": {[]string{"topology.graph=er-fiedler", "topology.target=1.2"},
			[]string{"topology.target", "1.2", "(0, 1]"}},
		"overlap above 1": {[]string{"data.partition=a", "data.t=1.5"}, []string{"data.t", "1.5", "[0, 1]"}},
		"overlap below 0": {[]string{"data.partition=a", "data.t=-0.25"},
			[]string{"data.t", "-0.25", "[0, 1]"}},
	} {
		_, err := parse(t, tc.set...).BuildWith("", drawn)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "--set" {
			t.Errorf("%s: %v, want a config.Error at --set", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}
