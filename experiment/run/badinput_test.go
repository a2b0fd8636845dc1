package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy"
)

// badRunFiles are run files with one thing wrong, and what the error says.
var badRunFiles = map[string]struct {
	file string // replaces "old" by "new" in small
	set  []string
	want []string
}{
	"unknown key": {"rounds = 12|rounds = 12\nround = 9", nil,
		[]string{"small.toml:4", "round", "unknown key", "rounds"}},
	"unknown section": {"[faults]|[fault]", nil,
		[]string{"small.toml:32", "fault", "unknown key", "[faults]"}},
	"key of other": {`graph = "ring"|graph = "ring"` + "\np = 0.5", nil,
		[]string{"small.toml:7", "topology.p", "unknown key"}},
	"wrong type": {"agents = 5|agents = \"five\"", nil,
		[]string{"small.toml:7", "topology.agents", "five", "whole number"}},
	"fraction": {"rounds = 12|rounds = 1.5", nil,
		[]string{"small.toml:3", "rounds", "1.5", "whole number"}},
	"syntax": {"agents = 5|agents = = 5", nil, []string{"small.toml:7", "found no valid TOML"}},
	"out of range": {"step_size = 0.5|step_size = -1", nil,
		[]string{"small.toml:20", "algorithm.step_size", "-1", "above 0"}},
	"no fault to share": {"drop = 0.1|symmetric = true", nil,
		[]string{"small.toml:33", "faults.symmetric", "true", "without drop or delay"}},
	"none late": {"drop = 0.1|max_delay = 3", nil,
		[]string{"small.toml:33", "faults.max_delay", "3", "nothing without delay"}},
	"no use": {"drop = 0.1|drop = 0.1\nlate = \"use\"", nil,
		[]string{"small.toml:34", "faults.late", "use", "nothing without delay"}},
	"no churn": {"drop = 0.1|drop = 0.1\nchurn_period = 3.0", nil,
		[]string{"small.toml:34", "faults.churn_period", "3", "nothing without churn"}},
	"no vectors": {`graph = "ring"|graph = "ring"` + "\nvectors = \"data\"", nil,
		[]string{"small.toml:7", "topology.vectors", "data", "graph of similar agents"}},
	"drop": {"drop = 0.1|drop = 1.5", nil,
		[]string{"small.toml:33", "faults.drop", "1.5", "0 to 1"}},
	"drop is no number": {"drop = 0.1|drop = nan", nil,
		[]string{"small.toml:33", "faults.drop", "NaN", "0 to 1"}},
	"dropout is no number": {"agents = 5|agents = 5\ndropout = nan", nil,
		[]string{"small.toml:8", "topology.dropout", "NaN", "0 to below 1"}},
	"no bound for given noise": {"target_epsilon = 6|noise_multiplier = 1",
		[]string{"privacy.accountant=kov"},
		[]string{"--set: privacy.accountant", "kov", "one that has a bound for this plan", "unsupported"}},
	"a claim and a budget": {"[faults]|[replication]\nclaim = true\n[faults]",
		[]string{"privacy.noise_multiplier=0.7"},
		[]string{"--set: privacy.noise_multiplier", "0.7", "nothing beside target_epsilon"}},
	"graph": {`"ring"|"rings"`, nil,
		[]string{"small.toml:6", "topology.graph", "rings", "ring"}},
	"dataset": {`"glyphs"|"glyph"`, nil,
		[]string{"small.toml:10", "data.dataset", "glyph", "mnist"}},
	"model": {`name = "mlp"|name = "mpl"`, nil,
		[]string{"small.toml:15", "model.name", "mpl", "logistic"}},
	"algorithm": {`name = "dsgd"|name = "sgdd"`, nil,
		[]string{"small.toml:19", "algorithm.name", "sgdd", "dsgd"}},
	"disconnected": {"agents = 5|agents = 5\np = 0.01", []string{"topology.graph=er"},
		[]string{"topology", "connected"}},
	"empty agent": {"train = 500|train = 100",
		[]string{"topology.agents=101", "topology.graph=ring"},
		[]string{"without records", "allow_empty"}},
	"not balanced": {"", []string{"topology.graph=star", "topology.weights=uniform"},
		[]string{"topology.weights", "doubly stochastic"}},
	"rate above 1": {"batch_size = 20|batch_size = 200", nil,
		[]string{"small.toml:26", "privacy.batch_size", "200", "sample rate"}},
	"min_records": {"", []string{"privacy.min_records=50"},
		[]string{"privacy.min_records", "50", "only under add-remove"}},
	"noise path": {"", []string{"privacy.noise=slow"},
		[]string{"privacy.noise", "slow", "fast or exact"}},
	"equal views": {"test = 100|test = 100\naugmentations = 4", nil,
		[]string{"small.toml:13", "data.augmentations", "4", "all views would be equal"}},
	"no noise": {"target_epsilon = 6|", nil,
		[]string{"privacy.target_epsilon", "noise_multiplier"}},
	"add-remove": {"", []string{"privacy.adjacency=add-remove"},
		[]string{"privacy.sample_rate", "public rate"}},
	"add-remove L": {"batch_size = 20|sample_rate = 0.1", []string{"privacy.adjacency=add-remove"},
		[]string{"privacy.batch_size", "public expected batch size"}},
	"central agents": {"", []string{"algorithm.name=central"},
		[]string{"topology.agents", "1 with algorithm central"}},
	"own test":          {"", []string{"evaluate.on=own"}, []string{"evaluate.on", "all"}},
	"set without value": {"", []string{"rounds"}, []string{"--set", "key=value"}},
	"set unknown": {"", []string{"privacy.epsilon=3"},
		[]string{"--set", "privacy.epsilon", "target_epsilon"}},
	"set bad": {"", []string{"rounds=0"}, []string{"--set", "rounds", "1 to"}},
	"name":    {"", []string{"name=../x"}, []string{"name", "../x"}},
	"clip 0": {"max_grad_norm = 1|max_grad_norm = 0", nil,
		[]string{"small.toml:25", "privacy.max_grad_norm", "found 0", "1 is in force without the key"}},
	"delta without noise": {"", []string{"privacy.mechanism=none", "privacy.target_delta=-1"},
		[]string{"--set: privacy.target_delta: found -1, allowed: 0 to below 1"}},
	"clip 0 set": {"", []string{"privacy.max_grad_norm=0"},
		[]string{"--set: privacy.max_grad_norm: found 0"}},
	"epsilon 0": {"target_epsilon = 6|target_epsilon = 0", nil,
		[]string{`target_epsilon: found "nothing above 0"`, "none"}},
	"every 0":  {"every = 5|every = 0", nil, []string{"small.toml:30", "evaluate.every: found 0"}},
	"window 0": {"", []string{"topology.window=0"}, []string{"topology.window: found 0", "1 to 1000"}},
	"momentum 0": {"", []string{"algorithm.optimizer=momentum", "algorithm.momentum=0"},
		[]string{"momentum: found 0"}},
	"beta 0": {"", []string{"algorithm.optimizer=adam", "algorithm.beta1=0"}, []string{"beta1: found 0"}},
	"clip_factor 0": {"", []string{"privacy.clipping=released", "privacy.clip_factor=0"},
		[]string{"privacy.clip_factor: found 0", "2 is in force"}},
}

func TestBadRunFiles(t *testing.T) {
	for name, tc := range badRunFiles {
		text := small
		if old, new, ok := strings.Cut(tc.file, "|"); ok {
			if !strings.Contains(text, old) {
				t.Fatalf("%s: %q is not in the file", name, old)
			}
			text = strings.Replace(text, old, new, 1)
		}
		f, err := experiment.Parse("small.toml", []byte(text), tc.set)
		var e *experiment.Experiment
		if err == nil {
			if e, err = f.BuildWith("", drawn); err == nil {
				_, err = Start(e, Own(e), 1, nil)
			}
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

// A run whose values leave the floats ends, and says so.
func TestDivergedRun(t *testing.T) {
	e := build(t, "algorithm.step_size=1e30", "algorithm.weight_decay=0.01")
	if _, err := Run(t.Context(), e, Options{Out: t.TempDir()}); !errors.Is(err, agent.ErrDiverged) {
		t.Errorf("%v", err)
	}
}

func TestDeltaMustBeBelowOneOverN(t *testing.T) {
	// Five agents with 100 records each.
	_, err := parse(t, "privacy.target_delta=0.01").BuildWith("", drawn)
	var bad *config.Error
	if !errors.Is(err, privacy.ErrRefused) || !errors.As(err, &bad) || bad.Key != "privacy.target_delta" {
		t.Fatalf("delta = 1/n: %v", err)
	}
	if _, err := parse(t, "privacy.target_delta=0.0099").BuildWith("", drawn); err != nil {
		t.Errorf("delta below 1/n: %v", err)
	}
	if r := train(t, build(t, "privacy.target_delta=0.005"),
		Options{}); !strings.Contains(strings.Join(r.Summary.Notes, "\n"),
		"warning: delta 0.005 is above 1/(10 n) = 0.001") {
		t.Errorf("no warning about delta above 1/(10 n): %q", r.Summary.Notes)
	}
	r := train(t, build(t, "privacy.target_delta=0.01", `privacy.i_understand=["delta"]`), Options{})
	if !strings.Contains(string(read(t, r.Dir, rundir.LedgerFile)), `"kind":"override"`) {
		t.Error("the override is not in the ledger")
	}
	if len(r.Summary.Privacy[0].Overrides) != 1 ||
		!strings.Contains(string(read(t, r.Dir, rundir.PrivacyFile)), "not below 1/n") {
		t.Error("the override is not in summary and statement")
	}
	// Under add-remove n comes from public constants: 20 / 0.1 = 200.
	add := []string{"privacy.adjacency=add-remove", "privacy.sample_rate=0.1"}
	if _, err := parse(t, append(add, "privacy.target_delta=0.005")...).BuildWith("", drawn); !errors.Is(err,
		privacy.ErrRefused) {
		t.Errorf("add-remove, delta = 1/200: %v", err)
	}
	if _, err := parse(t, append(add, "privacy.target_delta=0.004")...).BuildWith("", drawn); err != nil {
		t.Errorf("add-remove, delta below 1/200: %v", err)
	}
}

func TestMissingAndAlteredData(t *testing.T) {
	dir := t.TempDir()
	set := []string{"data.dataset=mnist"}
	text := strings.NewReplacer("train = 500\n", "", "test = 100\n", "").Replace(small)
	load := func() error {
		f, err := experiment.Parse("m.toml", []byte(text), set)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Build(dir)
		return err
	}
	if err := load(); !errors.Is(err, data.ErrMissing) {
		t.Errorf("no files: %v", err)
	}
	os.MkdirAll(filepath.Join(dir, "mnist"), 0o755)
	os.WriteFile(filepath.Join(dir, "mnist", "train-images-idx3-ubyte.gz"), []byte("cut"), 0o644)
	if err := load(); !errors.Is(err, data.ErrAltered) {
		t.Errorf("truncated file: %v", err)
	}
}
