package forecast_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/runfile"
)

func built(t *testing.T, file string, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("run.toml", []byte(file), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const small = `
rounds = 3
[topology]
agents = 4
[data]
dataset = "glyphs"
train = 2000
test = 200
[privacy]
target_epsilon = 2.0
batch_size = 20
`

// A suggestion is made of keys that a run file takes, and keeps to the target epsilon.
func TestSuggestionIsARunFile(t *testing.T) {
	e := built(t, small)
	s, err := forecast.Suggest(e)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for line := range strings.Lines(s.TOML()) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "["); ok {
			set = append(set, strings.TrimSuffix(section, "]"))
		}
	}
	if got := strings.Join(set, " "); got != "privacy algorithm topology" {
		t.Errorf("sections %q", got)
	}
	file := s.TOML() + "agents = 4\n[data]\ndataset = \"glyphs\"\ntrain = 2000\ntest = 200\n"
	file = strings.Replace(file, "[privacy]\n", "[privacy]\ntarget_epsilon = 2.0\n", 1)
	p, err := forecast.Of(built(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if p.Rounds != 300 {
		t.Errorf("%d rounds", p.Rounds)
	}
	for _, a := range p.Agents {
		if up := float64(a.Total.Upper); up > 2 || up < 1.9 {
			t.Errorf("agent %d: epsilon %g, want just below 2", a.Agent, up)
		}
	}
	if got := forecast.Drowned(p.Agents, 4); math.Abs(got/s.Ratio-1) > .01 {
		t.Errorf("the plan's noise over signal is %g, the suggestion says %g", got, s.Ratio)
	}
}

func TestSuggestionNeedsATarget(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{"privacy.target_epsilon=0 privacy.noise_multiplier=2", "target_epsilon"},
		{"algorithm.name=gossip-average", "found \"gossip-average\""},
	} {
		f, err := experiment.Parse("run.toml", []byte(small), strings.Fields(tt.set))
		if err != nil {
			continue // refused even before
		}
		e, err := f.Build("")
		if err != nil {
			continue
		}
		if _, err := forecast.Suggest(e); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.set, err, tt.want)
		}
	}
}

// Two agents of four rounds each: noise of length 3 and 4 over signal 1, by hand.
func TestDrowned(t *testing.T) {
	agents := []forecast.Agent{{NoiseToSignal: 3, Charges: 4}, {NoiseToSignal: 4, Charges: 4}}
	// sum of 8 answers: noise sqrt(4*9+4*16) = 10, signal 8
	if got := forecast.Drowned(agents, 2); math.Abs(got-10./8) > 1e-12 {
		t.Errorf("%g, want 1.25", got)
	}
	if got := forecast.Drowned(nil, 3); got != 0 {
		t.Errorf("no agents: %g", got)
	}
}

func TestAPlanWarnsOfNoise(t *testing.T) {
	p, err := forecast.Of(built(t, small, "privacy.target_epsilon=0.02"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(p.Warnings, "\n"), "noise outweighs signal") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

const beginner = `
[topology]
agents = 4
graph = "complete"
[data]
dataset = "glyphs"
train = 2000
test = 200
[model]
name = "mlp"
[privacy]
target_epsilon = 2.0
`

// A run file with an epsilon, a data set and a model alone gets the rest as it is
// proposed; what the file has stays.
func TestSuggestionsCompleteARunFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.toml")
	if err := os.WriteFile(path, []byte(beginner), 0o600); err != nil {
		t.Fatal(err)
	}
	e, s, err := forecast.Completed(path, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, proposed, err := forecast.Proposed(path, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same, err := forecast.Suggest(e)
	if err != nil {
		t.Fatal(err)
	}
	p := &e.File.Privacy
	of := map[string]any{}
	for _, k := range proposed.Keys {
		of[k.Key] = k.Value
	}
	if p.BatchSize != of["batch_size"] || e.File.Run.Rounds != uint64(of["rounds"].(int)) ||
		same.TOML() != proposed.TOML() || strings.Contains(s.TOML(), "graph") {
		t.Errorf("batch %v, %d rounds; proposed %+v", p.BatchSize, e.File.Run.Rounds, proposed.Keys)
	}
	if _, err := forecast.Suggest(built(t, beginner+"batch_size = 20\n")); err != nil {
		t.Error(err)
	}
	e, s, err = forecast.Completed(path, []string{"rounds=7", "privacy.sample_rate=0.5",
		"algorithm.step_size=0.25"}, "")
	if err != nil {
		t.Fatal(err)
	}
	text := s.TOML()
	if e.File.Run.Rounds != 7 || e.File.Privacy.SampleRate != .5 || e.File.Privacy.BatchSize != 0 ||
		strings.Contains(text, "step_size") || strings.Contains(text, "batch") {
		t.Errorf("%d rounds, privacy %+v, suggested %s", e.File.Run.Rounds, e.File.Privacy, text)
	}
	for key, set := range map[string][]string{
		"optimizer":      {"algorithm.optimizer=adam"},
		"algorithm.name": {"algorithm.name=newton", "model.name=logistic"},
	} {
		_, _, err := forecast.Completed(path, set, "")
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v: %v", set, err)
		}
	}
}

const smallTable = `
rounds = 150
[topology]
graph = "ring"
agents = 5
[data]
dataset = "DATASET"
partition = "natural"
[model]
name = "logistic"
[algorithm]
name = "dsgd"
step_size = 2.0
[privacy]
batch_size = 24
max_grad_norm = 1.0
target_epsilon = 3.0
target_delta = 1e-4
`

// A small table is proposed Newton steps, as keys of a run file that builds and keeps the
// budget; a file that has named its algorithm keeps it where it is completed.
func TestTablesAreProposedNewton(t *testing.T) {
	file := strings.Replace(smallTable, "DATASET", "logistic-regression", 1)
	e := built(t, file)
	s, err := forecast.Suggest(e)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for _, k := range s.Keys {
		set = append(set, strings.TrimPrefix(k.Section+"."+k.Key, ".")+"="+fmt.Sprint(k.Value))
	}
	if !slices.Contains(set, "algorithm.name=newton") || !slices.Contains(set, "topology.graph=complete") {
		t.Fatalf("%q", set)
	}
	f, err := experiment.Changed(e.File, s.Drop, set)
	if err != nil {
		t.Fatal(err)
	}
	like, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	p, err := forecast.Of(like)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Agents[0]; a.Total.Upper > 3 || math.Abs(float64(a.Noise)-s.Noise) > .01*s.Noise {
		t.Errorf("epsilon %v, noise %v, proposed %v", a.Total, a.Noise, s.Noise)
	}
	path := filepath.Join(t.TempDir(), "run.toml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, _, err := forecast.Completed(path, nil, ""); err != nil || e.File.Algorithm.Name != "dsgd" {
		t.Errorf("completed with another algorithm (%v)", err)
	}
}

// The hospitals' run file is what is proposed for them.
func TestHospitalsFollowTheProposal(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs heart-disease")
	}
	_, s, err := forecast.Proposed("../../examples/hospitals/heart.toml", nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../../examples/hospitals/newton.toml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := runfile.Parse("newton.toml", b)
	if err != nil {
		t.Fatal(err)
	}
	values := doc.Values()
	for _, k := range s.Keys {
		name := strings.TrimPrefix(k.Section+"."+k.Key, ".")
		if values[name] != fmt.Sprint(k.Value) {
			t.Errorf("%s is %q, proposed %v", name, values[name], k.Value)
		}
	}
	for _, name := range s.Drop {
		if v, ok := values[name]; ok {
			t.Errorf("%s = %s is to be dropped", name, v)
		}
	}
}
