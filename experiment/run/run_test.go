package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/model"
	"sotto/privacy/account"
)

const small = experimenttest.Small

func parse(t *testing.T, set ...string) *experiment.File {
	t.Helper()
	f, err := experiment.Parse("small.toml", []byte(small), set)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// drawn holds generated data that tests have in common: what is drawn once is never
// changed.
var drawn = data.NewCache()

func build(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	e, err := parse(t, set...).BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func train(t *testing.T, e *experiment.Experiment, opt Options) *Result {
	t.Helper()
	if opt.Out == "" {
		opt.Out = t.TempDir()
	}
	r, err := Run(context.Background(), e, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deterministic are the files that must not depend on workers, interruptions or time.
var deterministic = []string{rundir.MetricsFile, rundir.ModelFile, rundir.ConfigFile, rundir.LedgerFile,
	rundir.PrivacyFile, rundir.TopologyFile}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range deterministic {
		if !bytes.Equal(read(t, a, name), read(t, b, name)) {
			t.Errorf("%s differs between %s and %s", name, a, b)
		}
	}
}

func TestSameBytesForAnyWorkers(t *testing.T) {
	out := t.TempDir()
	e := build(t)
	one := train(t, e, Options{Out: out, Workers: 1})
	two := train(t, e, Options{Out: out, Workers: 2})
	five := train(t, build(t), Options{Out: out, Workers: 5})
	sameFiles(t, one.Dir, two.Dir)
	sameFiles(t, one.Dir, five.Dir)
	if one.Summary.RunHash != two.Summary.RunHash {
		t.Error("run hashes differ")
	}
	if filepath.Base(two.Dir) != filepath.Base(one.Dir)+"-2" ||
		filepath.Base(five.Dir) != filepath.Base(one.Dir)+"-3" {
		t.Errorf("identical runs lie in %s, %s, %s", one.Dir, two.Dir, five.Dir)
	}
	other := train(t, build(t, "seed=4"), Options{Out: out})
	if other.Summary.RunHash == one.Summary.RunHash ||
		filepath.Base(other.Dir)[:14] == filepath.Base(one.Dir)[:14] {
		t.Error("another seed gives the same run")
	}
}

// The effective configuration alone, without the original file, gives the same run. Views
// are drawn from the charge's own stream: workers do not matter, and they are another run
// than none.
func TestAugmentedRun(t *testing.T) {
	set := []string{"data.augmentations=3", "data.augment_shift=1", "data.augment_flip=true", "rounds=4"}
	a := train(t, build(t, set...), Options{Workers: 1})
	b := train(t, build(t, set...), Options{Workers: 3})
	sameFiles(t, a.Dir, b.Dir)
	if plain := train(t, build(t, "rounds=4"), Options{Workers: 2}); bytes.Equal(
		read(t, plain.Dir, rundir.ModelFile),
		read(t, a.Dir, rundir.ModelFile)) {
		t.Error("augmentation changes nothing")
	}
}

func TestEffectiveConfigIsComplete(t *testing.T) {
	one := train(t, build(t), Options{})
	f, err := experiment.Parse("config.toml", read(t, one.Dir, rundir.ConfigFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	again := train(t, e, Options{})
	sameFiles(t, one.Dir, again.Dir)
}

func TestInterruptAndResume(t *testing.T) {
	e := build(t)
	whole := train(t, e, Options{})
	for _, stop := range []uint64{1, 5, 8, 11} {
		ctx, cancel := context.WithCancel(context.Background())
		opt := Options{Out: t.TempDir(), Progress: func(round, _ uint64, _ string) {
			if round == stop {
				cancel()
			}
		}}
		_, err := Run(ctx, e, opt)
		var halt *Interrupted
		if !errors.As(err, &halt) || halt.Round != stop || !errors.Is(err, context.Canceled) {
			t.Fatalf("stop at %d: %v", stop, err)
		}
		if left, _ := filepath.Glob(filepath.Join(opt.Out, "*")); len(left) != 1 || left[0] != halt.Dir {
			t.Errorf("an interrupted run leaves %v, reported %s", left, halt.Dir)
		}
		os.WriteFile(filepath.Join(halt.Dir, "."+rundir.CheckpointFile+"-12345"), []byte("half"), 0o600)
		r, err := Resume(context.Background(), halt.Dir, "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameFiles(t, whole.Dir, r.Dir)
		if hidden, _ := filepath.Glob(filepath.Join(r.Dir, ".*")); len(hidden) > 0 {
			t.Errorf("what a killed write has left is in the finished run: %v", hidden)
		}
		if r.Summary.RunHash != whole.Summary.RunHash || strings.HasSuffix(r.Dir, rundir.PartialSuffix) {
			t.Errorf("resumed run in %s has hash %s", r.Dir, r.Summary.RunHash)
		}
		if _, err := os.Stat(halt.Dir); err == nil {
			t.Error("the interrupted directory is still there")
		}
	}
}

func TestResumeRefusesWhatItCannotContinue(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, build(t), Options{Out: t.TempDir(),
		Progress: func(uint64, uint64, string) { cancel() }})
	var halt *Interrupted
	if !errors.As(err, &halt) {
		t.Fatal(err)
	}
	good := read(t, halt.Dir, rundir.CheckpointFile)
	at := filepath.Join(halt.Dir, rundir.CheckpointFile)
	resume := func(dir string) error {
		_, err := Resume(context.Background(), dir, "", Options{})
		return err
	}
	for i := 0; i < len(good); i += 1 + len(good)/25 {
		os.WriteFile(at, good[:i], 0o644)
		if err := resume(halt.Dir); !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("checkpoint cut at %d of %d: %v", i, len(good), err)
		}
	}
	os.Remove(at)
	if err := resume(halt.Dir); !errors.Is(err, ErrCheckpoint) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "first checkpoint") {
		t.Errorf("no checkpoint: %v", err)
	}
	os.WriteFile(at, good, 0o644)
	cfg := read(t, halt.Dir, rundir.ConfigFile)
	os.WriteFile(filepath.Join(halt.Dir, rundir.ConfigFile),
		bytes.Replace(cfg, []byte("step_size = 0.5"), []byte("step_size = 0.25"), 1), 0o644)
	if err := resume(halt.Dir); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("changed configuration: %v", err)
	}
	os.WriteFile(filepath.Join(halt.Dir, rundir.ConfigFile), cfg, 0o644)
	if err := resume(filepath.Dir(halt.Dir)); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("a folder that is no run: %v", err)
	}
	if err := resume(halt.Dir); err != nil {
		t.Errorf("after all refusals the run must still go on: %v", err)
	}
}

// A disk that fills up at any write loses nothing: the run can be resumed once there is
// space again.
func TestFullDisk(t *testing.T) {
	e := build(t)
	whole := train(t, e, Options{})
	writes := 0
	train(t, e, Options{write: func(path string, fill func(io.Writer) error) error {
		writes++
		return atomicfile.Stream(path, fill)
	}})
	for fail := 2; fail <= writes; fail++ { // the first write is the configuration: nothing has been done yet
		n := 0
		_, err := Run(context.Background(), e,
			Options{Out: t.TempDir(), write: func(path string, fill func(io.Writer) error) error {
				if n++; n >= fail {
					return fmt.Errorf("%s: %w", path, syscall.ENOSPC)
				}
				return atomicfile.Stream(path, fill)
			}})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("write %d of %d fails: %v", fail, writes, err)
		}
		_, dir, found := strings.Cut(err.Error(), "--resume ")
		if found != (fail > 2) {
			t.Fatalf("write %d: does the error say how to go on? %v", fail, err)
		}
		if !found { // no checkpoint yet
			continue
		}
		r, err := Resume(context.Background(), dir, "", Options{})
		if err != nil {
			t.Fatalf("write %d: resume: %v", fail, err)
		}
		sameFiles(t, whole.Dir, r.Dir)
	}
}

func TestRunDirectory(t *testing.T) {
	r := train(t, build(t), Options{Watch: Watch{Command: "sotto run small.toml"}})
	for _, name := range append(deterministic, rundir.ManifestFile, rundir.SummaryFile, rundir.ReportFile,
		"plots/accuracy.svg",
		"plots/loss.svg", "plots/consensus.svg", "plots/epsilon.svg", "plots/classes.svg", "plots/graph.svg",
		"plots/accuracy.csv") {
		if len(read(t, r.Dir, name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Dir, rundir.CheckpointFile)); err == nil {
		t.Error("a finished run still holds its checkpoint")
	}
	var s map[string]any
	if err := json.Unmarshal(read(t, r.Dir, rundir.SummaryFile), &s); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"run", "algorithm", "agents", "rounds", "accuracy", "loss",
		"consensus_distance", "privacy", "noise", "bytes_sent", "seconds", "seconds_per_round"} {
		if _, ok := s[key]; !ok {
			t.Errorf("summary.json has no %q", key)
		}
	}
	if s["noise"] != "simulated" {
		t.Errorf("noise is %v", s["noise"])
	}
	var st []rundir.AgentStatement
	if err := json.Unmarshal(read(t, r.Dir, rundir.PrivacyFile), &st); err != nil {
		t.Fatal(err)
	}
	for _, a := range st {
		if a.Statement.Epsilon != nil || a.Statement.WouldBeEpsilon == nil {
			t.Error("a simulation states an epsilon as a guarantee")
		}
	}
	_, weights, err := model.DecodeSafetensors(read(t, r.Dir, rundir.ModelFile))
	if err != nil || len(weights) != 5 || len(weights[0].Vec) != 784*8+8+8*10+10 {
		t.Errorf("model file: %d tensors, %v", len(weights), err)
	}
	page := string(read(t, r.Dir, rundir.ReportFile))
	if !strings.Contains(page, "sotto run small.toml") || strings.Count(page, "<figure>") != 6 {
		t.Error("report.html lacks the command or a plot")
	}
}

// The printed epsilon comes from the ledger: it equals what a fresh accountant says of 12
// Poisson-Gaussian charges at the calibrated noise, it meets the target, and each agent
// was charged once a round.
func TestEpsilonComesFromCharges(t *testing.T) {
	e := build(t)
	r := train(t, e, Options{})
	for _, p := range r.Summary.Privacy {
		plan := account.DPSGD(account.ZeroOut, .2, 12)
		movement, err := e.Plans[p.Agent].Movement()
		if err != nil {
			t.Fatal(err)
		}
		plan.NoiseMultiplier = float64(p.Noise) / movement
		plan.Accountant = p.Accountant
		want, err := account.Epsilon(plan, 1e-4)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(p.Epsilon.Upper); got != want.Upper || got > 6 || got < 5.9 || p.Charges != 12 ||
			p.SampleRate != .2 {
			t.Errorf("agent %d: epsilon %g (plan %g), %d charges, rate %g", p.Agent, got, want.Upper,
				p.Charges, p.SampleRate)
		}
	}
}

// With a fixed noise and a budget the ledger admits only so many charges; the run goes on
// without them.
func TestBudgetEndsBeforeTheRun(t *testing.T) {
	r := train(t, build(t, "privacy.noise_multiplier=2", "privacy.target_epsilon=1", "rounds=40"), Options{})
	if r.Summary.Links.Exhausted == 0 {
		t.Fatal("no query was refused")
	}
	for _, p := range r.Summary.Privacy {
		if float64(p.Epsilon.Upper) > 1 || p.Charges == 0 || p.Charges >= 40 {
			t.Errorf("agent %d: epsilon %g after %d charges", p.Agent, float64(p.Epsilon.Upper), p.Charges)
		}
	}
}

func TestBaselines(t *testing.T) {
	central := train(t, build(t, "algorithm.name=central", "topology.agents=1", "topology.graph=complete",
		"privacy.batch_size=100"), Options{})
	if central.Summary.BytesSentTotal != 0 || central.Summary.Agents != 1 ||
		!math.IsInf(float64(central.Summary.Privacy[0].Epsilon.Upper), 0) &&
			central.Summary.Privacy[0].Charges != 12 {
		t.Errorf("central: %+v", central.Summary)
	}
	local := train(t, build(t, "algorithm.name=local", "privacy.mechanism=none", "privacy.target_epsilon=0"),
		Options{})
	for _, p := range local.Summary.Privacy {
		if p.Epsilon.Upper != 0 || local.Summary.BytesSentTotal != 0 {
			t.Errorf("local: agent %d epsilon %g, %d bytes", p.Agent, float64(p.Epsilon.Upper),
				local.Summary.BytesSentTotal)
		}
	}
	plain := train(t, build(t, "privacy.mechanism=none", "privacy.target_epsilon=0",
		"privacy.max_grad_norm=inf"), Options{})
	for _, p := range plain.Summary.Privacy {
		if !math.IsInf(float64(p.Epsilon.Upper), 1) {
			t.Errorf("without noise agent %d has epsilon %g", p.Agent, float64(p.Epsilon.Upper))
		}
	}
	if b, err := json.Marshal(plain.Summary); err != nil || !strings.Contains(string(b), `"upper":"inf"`) {
		t.Errorf("an infinite epsilon in JSON: %s, %v", b, err)
	}
}

// Noise is exact unless a run asks otherwise: no float assumption in the statements, sums
// with what their rounding adds charged, and the same bytes for any number of workers.
// "fast" is the same path, and says nothing else of a model whose sums have a bound.
func TestExactNoise(t *testing.T) {
	e := build(t, "privacy.noise=exact")
	one, two := train(t, e, Options{Workers: 1}), train(t, e, Options{Workers: 2})
	sameFiles(t, one.Dir, two.Dir)
	parameters := func(dir string) []model.NamedVec {
		_, v, err := model.DecodeSafetensors(read(t, dir, rundir.ModelFile))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := parameters(one.Dir)
	for _, set := range [][]string{{"privacy.noise=exact"}, nil, {"privacy.noise=fast"}} {
		r := train(t, build(t, set...), Options{})
		for _, p := range r.Summary.Privacy {
			if up := float64(p.Epsilon.Upper); up > 6 || up < 5.9 {
				t.Errorf("%v: agent %d: epsilon %g, target 6", set, p.Agent, up)
			}
		}
		if !reflect.DeepEqual(parameters(r.Dir), want) {
			t.Errorf("%v: another model", set)
		}
		text := string(read(t, r.Dir, rundir.PrivacyFile))
		if strings.Contains(text, "double-precision sampler") || strings.Contains(text, "float32") {
			t.Errorf("%v: a float assumption is stated", set)
		}
	}
	for i := range e.Plans {
		if m, err := e.Plans[i].Movement(); err != nil || !(m > 1 && m < 1.01) {
			t.Errorf("agent %d: sums move by %v clips: %v", i, m, err)
		}
	}
}

func TestOneDigitForEachAgent(t *testing.T) {
	e := build(t, "topology.agents=10", "data.partition=a", "data.t=1", "data.train=1000")
	for i, rows := range e.Task.Parts {
		for _, r := range rows {
			if e.Task.Split.Train.Labels[r] != e.Task.Split.Train.Labels[rows[0]] {
				t.Fatalf("agent %d holds two digits", i)
			}
		}
	}
	if e.Plans[0].Public.SampleRate == e.Plans[1].Public.SampleRate &&
		len(e.Task.Parts[0]) != len(e.Task.Parts[1]) {
		t.Error("agents of different size have one rate")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add(experiment.Builtin)
	f.Add([]byte("a = [[1]]\n[topology]\nagents = -1"))
	f.Add([]byte("[privacy]\nmax_grad_norm = nan"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := experiment.Parse("fuzz.toml", b, nil)
		if (file == nil) == (err == nil) && err == nil {
			t.Fatal("neither file nor error")
		}
	})
}

func ExampleFile_Build() {
	f, _ := experiment.Parse("tiny.toml", []byte(small), []string{"rounds=2", "privacy.target_epsilon=3"})
	e, err := f.BuildWith("", drawn)
	fmt.Println(err, len(e.Task.Parts), "agents,", e.Plans[0].Queries(), "queries, sample rate",
		e.Plans[0].Public.SampleRate)
	// Output: <nil> 5 agents, 2 queries, sample rate 0.2
}
