package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
)

const tinyTuning = `
rounds = 5
[topology]
agents = 3
[data]
dataset = "glyphs"
train = 150
test = 30
[model]
hidden = [4]
[privacy]
mechanism = "none"
max_grad_norm = 1.0
batch_size = 10
[tune]
validation = 0.3
%s
[tune.space]
algorithm.step_size = { log = [0.01, 1.0] }
"topology.graph" = { choice = ["ring", "path"] }
`

func tinySearch(t *testing.T, keys string, set ...string) *Tuning {
	t.Helper()
	s, err := ParseTuning("tiny.toml", fmt.Appendf(nil, tinyTuning, keys), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func search(t *testing.T, s *Tuning, opt TuneOptions) *TuneResult {
	t.Helper()
	if opt.Out == "" && opt.Dir == "" {
		opt.Out = t.TempDir()
	}
	res, err := s.Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// found is what a search leaves beside its runs.
func found(t *testing.T, dir string, names ...string) []byte {
	t.Helper()
	var all []byte
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

var searches = map[string]struct {
	keys  string
	rows  int
	files []string
}{
	methodRandom: {"trials = 5", 5, []string{trialsFile, "best.toml"}},
	methodPBT:    {"method = \"pbt\"\npopulation = 5\ninterval = 2", 15, []string{trialsFile, "best.toml", modelFile}},
}

// A search leaves the same files for any number of workers, and after any interruption, with a row torn by a crash.
func TestSearchIsDeterministicAndResumable(t *testing.T) {
	for method, tc := range searches {
		want := found(t, search(t, tinySearch(t, tc.keys), TuneOptions{Workers: 1}).Dir, tc.files...)
		if got := found(t, search(t, tinySearch(t, tc.keys), TuneOptions{Workers: 3}).Dir, tc.files...); !bytes.Equal(got, want) {
			t.Errorf("%s: three workers find something else than one", method)
		}
		for stop := 1; stop < tc.rows; stop += tc.rows / 3 {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			_, err := tinySearch(t, tc.keys).Run(ctx, TuneOptions{Dir: dir, Workers: 2, Progress: func(p TuneProgress) {
				if p.Of != tc.rows {
					t.Errorf("%s: %d trials, want %d", method, p.Of, tc.rows)
				}
				if p.Done == stop {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s stopped after %d trials: %v", method, stop, err)
			}
			f, err := os.OpenFile(filepath.Join(dir, trialsFile), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString("1,5,0,0.1,ri") // a crash in the middle of a row
			f.Close()
			ran := 0
			search(t, tinySearch(t, tc.keys), TuneOptions{Dir: dir, Workers: 2, Progress: func(TuneProgress) { ran++ }})
			if got := found(t, dir, tc.files...); !bytes.Equal(got, want) {
				t.Errorf("%s stopped after %d trials: its files differ from an uninterrupted search's", method, stop)
			}
			if ran > tc.rows-stop {
				t.Errorf("%s stopped after %d trials: %d ran again", method, stop, ran)
			}
		}
		dir := t.TempDir()
		search(t, tinySearch(t, tc.keys), TuneOptions{Dir: dir})
		search(t, tinySearch(t, tc.keys), TuneOptions{Dir: dir, Progress: func(p TuneProgress) { t.Errorf("%s: a finished search runs trial %v again", method, p) }})
		if got := found(t, search(t, tinySearch(t, tc.keys, "tune.seed=2"), TuneOptions{}).Dir, tc.files...); bytes.Equal(got, want) {
			t.Errorf("%s: another seed draws the same candidates", method)
		}
	}
}

// The best trial is the one with the highest score of records held out, best.toml runs with its values, and says how it was found.
func TestBestIsARunFile(t *testing.T) {
	res := search(t, tinySearch(t, "trials = 6"), TuneOptions{})
	top := res.Rows[0]
	for _, r := range res.Rows {
		if r.Score > top.Score {
			top = r
		}
		s := readSummary(t, filepath.Join(res.Dir, r.Run))
		if float64(s.Accuracy.Mean) != r.Score {
			t.Errorf("trial %d scores %g, its run's accuracy on held-out records is %g", r.Trial, r.Score, s.Accuracy.Mean)
		}
	}
	if res.Best.Trial != top.Trial {
		t.Errorf("trial %d is chosen, trial %d scores most", res.Best.Trial, top.Trial)
	}
	f, err := Read(filepath.Join(res.Dir, "best.toml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	if e.held != nil || f.eval.On != "all" || f.root.Trial != 0 || e.split.Train.Len() != 150 {
		t.Error("best.toml keeps settings of a trial")
	}
	for i, key := range res.Keys {
		if got := e.keyValue(t, key); got != strings.Trim(top.Values[i], `"'`) {
			t.Errorf("best.toml: %s is %s, the best trial's is %s", key, got, top.Values[i])
		}
	}
	s := run(t, e, Options{}).Summary
	if !strings.Contains(s.Tuned, "tuned on glyphs") || !strings.Contains(s.Tuned, "no privacy cost") {
		t.Errorf("the run says %q of its tuning", s.Tuned)
	}
}

// keyValue is what the effective configuration says.
func (e *Experiment) keyValue(t *testing.T, key string) string {
	t.Helper()
	f := finished{config: e.effective}
	if err := f.readKeys(); err != nil {
		t.Fatal(err)
	}
	return f.keys[key]
}

func readSummary(t *testing.T, dir string) (s Summary) {
	t.Helper()
	if err := json.Unmarshal(read(t, dir, summaryFile), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Held-out records are no training records and no test records; each record has a coin of its own, of the stated bias: a binomial
// count, at a false-reject rate of 1e-6.
func TestHeldOutRecordsAreDisjoint(t *testing.T) {
	const share = .3
	e, whole := build(t, "evaluate.validation=0.3", "evaluate.on=validation"), build(t)
	seen := map[int32]string{}
	total, held := 0, 0
	for i := range e.parts {
		for _, set := range []struct {
			name string
			rows []int32
		}{{"training", e.parts[i]}, {"held-out", e.held[i]}} {
			for _, r := range set.rows {
				if seen[r] != "" {
					t.Fatalf("record %d is a %s and a %s record", r, seen[r], set.name)
				}
				seen[r] = set.name
				if !slices.Contains(whole.parts[i], r) {
					t.Fatalf("agent %d got record %d from elsewhere", i, r)
				}
			}
		}
		total += len(whole.parts[i])
		held += len(e.held[i])
	}
	if len(seen) != total {
		t.Errorf("%d of %d records are left", len(seen), total)
	}
	if sd := math.Sqrt(share * (1 - share) * float64(total)); math.Abs(float64(held)-share*float64(total)) > 4.9*sd {
		t.Errorf("%d of %d records are held out, want %g of them", held, total, share)
	}
	if e.tests[0].Len() != held || e.validation == e.split.Test {
		t.Error("agents are not evaluated on the held-out records")
	}
	inTest := map[string]bool{}
	for r := range e.split.Test.Len() {
		inTest[fmt.Sprint(e.split.Test.X.Row(r))] = true
	}
	at := 0
	for i := range e.held {
		for _, r := range e.held[i] {
			row := fmt.Sprint(e.validation.X.Row(at))
			if row != fmt.Sprint(e.split.Train.X.Row(int(r))) || e.validation.Labels[at] != e.split.Train.Labels[r] {
				t.Fatalf("held-out record %d is not record %d of the training data", at, r)
			}
			if inTest[row] {
				t.Fatalf("held-out record %d is a test record", at)
			}
			at++
		}
	}
	// Whether a record is held out does not depend on who has it.
	other := build(t, "evaluate.validation=0.3", "topology.agents=2", "topology.graph=path")
	for i := range other.held {
		for _, r := range other.held[i] {
			if seen[r] != "held-out" {
				t.Fatalf("record %d is held out by another partition only", r)
			}
		}
	}
}

// Trials share data and initial models, not noise and batches.
func TestTrialsAreIndependent(t *testing.T) {
	first, second, again := noisy(t, "trial=1"), noisy(t, "trial=2"), noisy(t, "trial=1")
	if !slices.Equal(first.init, second.init) || fmt.Sprint(first.parts) != fmt.Sprint(second.parts) {
		t.Error("trials begin with other models or data")
	}
	hash := func(e *Experiment) string { return run(t, e, Options{}).Summary.RunHash }
	if a := hash(first); a == hash(second) || a != hash(again) || first.noiseSeed() == noisy(t).noiseSeed() {
		t.Error("trials share noise, or do not repeat")
	}
}

// noisy is the small run with noise that needs no search.
func noisy(t *testing.T, set ...string) *Experiment {
	t.Helper()
	return build(t, append(set, "privacy.target_epsilon=0", "privacy.noise_multiplier=2")...)
}

func TestBadSearches(t *testing.T) {
	base, _, _ := strings.Cut(tinyTuning, "[tune]")
	const space = "[tune.space]\nalgorithm.step_size = { log = [0.01, 1.0] }\n"
	for name, tc := range map[string]struct {
		section string
		flags   []string
		want    []string
	}{
		"no space":            {"[tune]\ntrials = 3", nil, []string{"tune.space", "nothing to search"}},
		"unknown key":         {"[tune]\ntrial = 3\n" + space, nil, []string{"f.toml:16", "tune.trial", "an unknown key", "trials"}},
		"method":              {"[tune]\nmethod = \"grid\"\n" + space, nil, []string{"tune.method", "grid", "pbt, random"}},
		"metric":              {"[tune]\nmetric = \"f1\"\n" + space, nil, []string{"tune.metric", "f1", "accuracy, loss"}},
		"validation":          {"[tune]\nvalidation = 1.0\n" + space, nil, []string{"tune.validation", "1", "below 1"}},
		"trials":              {"[tune]\ntrials = 0\n" + space, nil, []string{"tune.trials", "0", "1 to"}},
		"law":                 {"[tune]\nlaw = \"binomial\"\n" + space, nil, []string{"tune.law", "binomial", "geometric"}},
		"population":          {"[tune]\nmethod = \"pbt\"\npopulation = 1\n" + space, nil, []string{"tune.population", "1", "2 to"}},
		"quantile":            {"[tune]\nmethod = \"pbt\"\nquantile = 0.6\n" + space, nil, []string{"tune.quantile", "0.6", "at most 0.5"}},
		"resample":            {"[tune]\nmethod = \"pbt\"\nresample = -1.0\n" + space, nil, []string{"tune.resample", "-1", "0 to 1"}},
		"interval":            {"[tune]\nmethod = \"pbt\"\ninterval = 6\n" + space, nil, []string{"tune.interval", "6", "at most the 5 rounds"}},
		"key of other":        {"[tune]\npopulation = 4\n" + space, nil, []string{"tune.population", "only pbt reads it"}},
		"not a table":         {"[tune]\nspace = 3", nil, []string{"tune.space", "3", "a table"}},
		"space list":          {"[tune.space]\nrounds = [1, 2]", nil, []string{"f.toml:16", "tune.space.rounds", "choice = two values or more"}},
		"space kind":          {"[tune.space]\nalgorithm.step_size = { normal = [0, 1] }", nil, []string{"tune.space.algorithm.step_size", "normal", "uniform"}},
		"two kinds":           {"[tune.space]\nalgorithm.step_size = { log = [1, 2], uniform = [1, 2] }", nil, []string{"tune.space.algorithm.step_size", "log, uniform"}},
		"turned":              {"[tune.space]\nalgorithm.step_size = { uniform = [1.0, 0.5] }", nil, []string{"f.toml:16", "uniform = [1.0, 0.5]", "low < high"}},
		"log of zero":         {"[tune.space]\nalgorithm.step_size = { log = [0.0, 0.5] }", nil, []string{"log = [0.0, 0.5]", "0 < low"}},
		"half":                {"[tune.space]\nrounds = { integer = [0.5, 3] }", nil, []string{"integer = [0.5, 3]", "whole numbers"}},
		"one end":             {"[tune.space]\nalgorithm.step_size = { log = [1.0] }", nil, []string{"log = [1.0]", "[low, high]"}},
		"infinite":            {"[tune.space]\nalgorithm.step_size = { uniform = [1.0, inf] }", nil, []string{"uniform = [1.0, inf]", "[low, high]"}},
		"one choice":          {"[tune.space]\nalgorithm.step_size = { choice = [1.0] }", nil, []string{"choice = [1.0]", "two values"}},
		"twice":               {"[tune.space]\nalgorithm.step_size = { choice = [1.0, 1.0] }", nil, []string{"choice = [1.0, 1.0]", "differ"}},
		"seed":                {"", []string{"seed=1,2"}, []string{"tune.space.seed", "no hyper-parameter"}},
		"data":                {"", []string{"data.train=100,200"}, []string{"tune.space.data.train", "the same held-out records"}},
		"model of population": {"[tune]\nmethod = \"pbt\"", []string{"model.hidden=[4],[5]"}, []string{"tune.space.model.hidden", "each other's weights"}},
		"flag":                {"", []string{"rounds"}, []string{"--tune", "key=log:low:high"}},
		"flag range":          {"", []string{"rounds=log:3"}, []string{"--tune", "rounds", "log = [3]"}},
		"unknown space key":   {"", []string{"algorithm.stepsize=1,2"}, []string{"[tune.space]", "algorithm.stepsize", "an unknown key"}},
		"bad value":           {"", []string{"rounds=0,-5"}, []string{"[tune.space]", "rounds"}},
		"set":                 {"[tune]\nset = [\"rounds\"]\n" + space, nil, []string{"[tune] set", "rounds", "key=value"}},
		"with a sweep":        {space + "[sweep]\nseed = [1, 2]", nil, []string{"sweep", "no section [sweep]"}},
	} {
		s, err := ParseTuning("f.toml", []byte(base+tc.section), nil, tc.flags)
		if err == nil {
			_, err = s.Run(context.Background(), TuneOptions{Out: t.TempDir()})
		}
		var bad *config.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v, want a config.Error", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
	if _, err := tinySearch(t, "").Run(context.Background(), TuneOptions{Workers: -1}); err == nil {
		t.Error("-1 workers are accepted")
	}
	if _, err := Parse("f.toml", fmt.Appendf(nil, tinyTuning, ""), nil); err == nil || !strings.Contains(err.Error(), "sotto tune") {
		t.Errorf("a search as a single run: %v", err)
	}
	if _, err := Parse("f.toml", []byte("[tuned]\ncost = \"little\""), nil); err == nil || !strings.Contains(err.Error(), "f.toml:2: tuned.cost") {
		t.Errorf("an unknown cost: %v", err)
	}
	for key, set := range map[string][]string{
		"evaluate.validation":             {"evaluate.validation=1.5"},
		"evaluate.on":                     {"evaluate.on=validation"},
		"evaluate.score":                  {"evaluate.score=accuracy"},
		"evaluate.score_clip":             {"evaluate.validation=0.2", "evaluate.score=loss"},
		"evaluate.score_noise_multiplier": {"evaluate.validation=0.2", "evaluate.score=accuracy", "evaluate.score_noise_multiplier=-1"},
	} {
		_, err := Parse("small.toml", []byte(small), set)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want an error for %s", set, err, key)
		}
	}
}

// A run directory's [tuned] section survives in its configuration; without one nothing is added.
func TestFilesWithoutATuningStayTheSame(t *testing.T) {
	if b := build(t).effective; bytes.Contains(b, []byte("tuned")) || bytes.Contains(b, []byte("validation")) || bytes.Contains(b, []byte("trial")) {
		t.Errorf("a plain run's configuration mentions tuning:\n%s", b)
	}
}

// Draws are in range, at its ends with the right weight, and log-uniform draws have uniform logarithms: Kolmogorov-Smirnov at a
// false-reject rate of 1e-6.
func TestDraws(t *testing.T) {
	const n = 20_000
	for _, flag := range []string{"k=uniform:-2:6", "k=log:0.001:10"} {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		r := rng.Public(7, flag)
		u := make([]float64, n)
		for i := range u {
			x, err := strconv.ParseFloat(d.draw(r), 64)
			if err != nil || x < d.lo || x > d.hi {
				t.Fatalf("%s: drew %g, %v", flag, x, err)
			}
			if u[i] = (x - d.lo) / (d.hi - d.lo); d.kind == "log" {
				u[i] = math.Log(x/d.lo) / math.Log(d.hi/d.lo)
			}
		}
		slices.Sort(u)
		worst := 0.
		for i, x := range u {
			worst = math.Max(worst, math.Max(math.Abs(x-float64(i)/n), math.Abs(x-float64(i+1)/n)))
		}
		if limit := math.Sqrt(-.5*math.Log(.5e-6)) / math.Sqrt(n); worst > limit {
			t.Errorf("%s: distance %g from uniform, limit %g", flag, worst, limit)
		}
	}
	for flag, want := range map[string]float64{"k=integer:3:6": 4, "k=a,b,c": 3} {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]float64{}
		r := rng.Public(7, flag)
		for range n {
			count[d.draw(r)]++
		}
		if float64(len(count)) != want {
			t.Errorf("%s: drew %v", flag, count)
		}
		for v, c := range count {
			if p := 1 / want; math.Abs(c-n*p) > 5.2*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%s: drew %s %g times of %d", flag, v, c, n)
			}
		}
	}
}

func FuzzSpaceFlag(f *testing.F) {
	for _, s := range []string{"a.b=log:0.1:2", "a=integer:1:9", "a=1,2", "a=uniform:-1:1e308", "a=[1,2],[3]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, flag string) {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			return
		}
		r := rng.Public(1, "fuzz")
		for range 4 {
			v := d.perturb(d.draw(r), r)
			if d.kind == "choice" {
				if !slices.Contains(d.values, v) {
					t.Fatalf("%q gives %q", flag, v)
				}
			} else if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= d.lo && x <= d.hi) {
				t.Fatalf("%q gives %q", flag, v)
			}
		}
	})
}

func FuzzDecodeTrials(f *testing.F) {
	header := slices.Concat(trialColumns, []string{"algorithm.step_size"}, resultColumns)
	row := TrialRow{Generation: 1, Trial: 2, Values: []string{"0.1"}, Score: math.Inf(-1), ConfigDigest: "d", Engine: "3", Arithmetic: "fma", RunHash: "h", Run: "runs/x"}
	f.Add(encodeTrials(header, []TrialRow{row, row}))
	f.Add([]byte("generation,trial\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := decodeTrials("f", b, header)
		if err != nil {
			return
		}
		if again, err := decodeTrials("f", encodeTrials(header, rows), header); err != nil || len(again) != len(rows) {
			t.Errorf("rows do not survive: %v", err)
		}
	})
}

func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{"0-3,7", "5", "1,2,4-9", "3-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids, err := parseRanges(s)
		if err != nil || len(ids) > 10_000 {
			return
		}
		if again, err := parseRanges(ranges(ids)); err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q: %v, then %v, %v", s, ids, again, err)
		}
	})
}

// privateData writes a table of the user's own and returns a run file about it: logistic regression whose every release is a
// Gaussian one of all records.
func privateData(t *testing.T, rest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.csv")
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"x", "y", "ill"})
	r := rng.Public(3, "own data")
	for range 400 {
		x, y := 2*unit(r)-1, 2*unit(r)-1
		ill := "no"
		if x+y/2 > .1 {
			ill = "yes"
		}
		w.Write([]string{number(x), number(y), ill})
	}
	w.Flush()
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
rounds = 6
topology.agents = 3
[data]
dataset = "csv"
path = %q
label = "ill"
label_values = ["no", "yes"]
[model]
name = "logistic"
[privacy]
noise_multiplier = 5.0
max_grad_norm = 1.0
sample_rate = 1.0
target_delta = 1e-5
[tune]
validation = 0.2
%s
[tune.space]
algorithm.step_size = { log = [0.1, 10.0] }
`, path, rest)
}

func privateSearch(t *testing.T, rest string, set ...string) (*Tuning, error) {
	t.Helper()
	return ParseTuning("own.toml", []byte(privateData(t, rest)), set, nil)
}

// gaussianSelection is epsilon of the best of a random number of runs with RDP rho a each, mean m: Theorems 2 and 6 of Papernot,
// Steinke 2022, with their conversion to (epsilon, delta), on a grid of orders.
func gaussianSelection(rho, m, delta float64, law string) float64 {
	best := math.Inf(1)
	for a := 1.01; a < 400; a *= 1.005 {
		var bound float64
		switch eta := laws[law]; {
		case math.IsNaN(eta):
			hat := math.Log1p(1 / (a - 1))
			d := math.Inf(1)
			for b := 1.01; b < 4000; b *= 1.01 {
				d = math.Min(d, math.Exp((b-1)*(rho*b-hat+math.Log1p(-1/b))-math.Log(b)))
			}
			bound = rho*a + m*math.Min(1, d) + math.Log(m)/(a-1)
		default:
			g := 1 / m // geometric
			if eta == 0 {
				lo, hi := 1e-9, 1.
				for range 200 {
					if g = (lo + hi) / 2; (1/g-1)/math.Log(1/g) > m {
						lo = g
					} else {
						hi = g
					}
				}
			}
			least := math.Inf(1)
			for b := 1.01; b < 4000; b *= 1.01 {
				least = math.Min(least, (1-1/b)*rho*b+math.Log(1/g)/b)
			}
			bound = rho*a + (1+eta)*least + math.Log(m)/(a-1)
		}
		best = math.Min(best, bound+math.Log1p(-1/a)-math.Log(delta*a)/(a-1))
	}
	return best
}

// On private data every trial's training and score are charged: the figure of private selection is that of the theorem for
// rho = 6/(2·5²) + 1/(2·10²), in the statement and in best.toml; the one against who sees all trials is that of as many Gaussian
// releases, exactly; and the ledger that both come from verifies.
func TestPrivateSelectionIsCharged(t *testing.T) {
	for _, law := range []string{"geometric", "logarithmic", "poisson"} {
		s, err := privateSearch(t, fmt.Sprintf("trials = 4\nseed = 2\nlaw = %q", law))
		if err != nil {
			t.Fatal(err)
		}
		res := search(t, s, TuneOptions{})
		if res.Cost != costCharged || len(res.Spent) == 0 || res.Best == nil || len(res.Rows) != s.runs {
			t.Fatalf("%s: cost %s, %d spent, %d of %d trials", law, res.Cost, len(res.Spent), len(res.Rows), s.runs)
		}
		const rho = 6./50 + 1./200
		want := gaussianSelection(rho, 4, 1e-5, law)
		for _, c := range res.Spent {
			if got := float64(c.Chosen.Upper); got < want*(1-2e-3) || got > want*(1+2e-3) {
				t.Errorf("%s: agents %s: epsilon of the selection is %.5f, the theorem gives %.5f", law, c.Agents, got, want)
			}
			all := account.GaussianEpsilon(math.Sqrt(2*rho*float64(len(res.Rows))), 1e-5)
			if up := float64(c.All.Upper); up < all-1e-9 || up > all*1.001 {
				t.Errorf("%s: agents %s: epsilon of %d trials is %.5f, Gaussian releases give %.5f", law, c.Agents, len(res.Rows), up, all)
			}
		}
		if _, err := ledger.VerifyRun(res.Dir); err != nil {
			t.Errorf("%s: %v", law, err)
		}
		stated, err := Statements(res.Dir)
		if err != nil || len(stated[0].Statement.PerAdversary) != 1 || stated[0].Statement.Releases != 7*len(res.Rows) {
			t.Fatalf("%s: %v, %+v", law, err, stated)
		}
		if e := stated[0].Statement.PerAdversary[0].Epsilon.Upper; e != float64(res.Spent[0].Chosen.Upper) {
			t.Errorf("%s: the statement says %g, the result %g", law, e, res.Spent[0].Chosen.Upper)
		}
		if len(res.Ranking()) != 1 {
			t.Errorf("%s: the scores of trials that were not chosen are shown", law)
		}
		best := string(read(t, res.Dir, "best.toml"))
		if !strings.Contains(best, "cost = 'charged'") || strings.Contains(best, "cost not included") {
			t.Errorf("%s: best.toml does not say what the search cost:\n%s", law, best)
		}
		f, err := Read(filepath.Join(res.Dir, "best.toml"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := f.hist.Epsilon; e < want*(1-2e-3) || e > want*(1+2e-3) {
			t.Errorf("%s: best.toml says epsilon %g, want %g", law, e, want)
		}
	}
}

// The selection's figure agrees with the vectors rdp_repeat_select, which were computed elsewhere.
func TestSelectionVectors(t *testing.T) {
	f, err := os.Open("../privacy/account/testdata/accounting_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	tested := 0
	for _, l := range lines[1:] {
		if l[column["accountant"]] != "rdp_repeat_select" {
			continue
		}
		at := func(name string) float64 {
			x, err := strconv.ParseFloat(l[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		var params struct {
			Mean  int `json:"mean_runs"`
			Shape any
		}
		if err := json.Unmarshal([]byte(l[column["params"]]), &params); err != nil {
			t.Fatal(err)
		}
		law := map[any]string{1.: "geometric", 0.: "logarithmic", "poisson": "poisson"}[params.Shape]
		one, err := account.Gaussian(at("noise_multiplier"), at("sensitivity"))
		if err != nil {
			t.Fatal(err)
		}
		s := &Tuning{p: tuneParams{Trials: params.Mean, Law: law}}
		a, err := s.selection(one, &privacyParams{adjacency: account.ZeroOut, TargetDelta: at("delta")})
		if got := a.Epsilon.Upper; err != nil || got < at("accept_lo") || got > at("accept_hi") {
			t.Errorf("%s: %s law, mean %d: %g, %v; want %g to %g", l[0], law, params.Mean, got, err, at("accept_lo"), at("accept_hi"))
		}
		if z := at("noise_multiplier"); true {
			if own := gaussianSelection(1/(2*z*z), float64(params.Mean), at("delta"), law); math.Abs(own/a.Epsilon.Upper-1) > 2e-3 {
				t.Errorf("%s: the formula in this test gives %g, the accountant %g", l[0], own, a.Epsilon.Upper)
			}
		}
		tested++
	}
	if tested != 3 {
		t.Errorf("%d vectors, want 3", tested)
	}
}

// What no theorem accounts for is refused on private data, with the way out; not on data that are nobody's.
func TestUnaccountedSearchesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		rest string
		set  []string
		want string
	}{
		"population": {"method = \"pbt\"", nil, "tune.method"},
		"no noise":   {"", []string{"privacy.mechanism=none", "privacy.noise_multiplier=0"}, "tune.method"},
	} {
		_, err := privateSearch(t, tc.rest, tc.set...)
		var bad *config.Error
		if !errors.Is(err, privacy.ErrRefused) || !errors.As(err, &bad) || bad.Key != tc.want || !strings.Contains(err.Error(), "--not-private") {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := privateSearch(t, tc.rest, append(tc.set, "tune.accept_cost_not_included=true")...); err != nil || s.cost != costNotIncluded {
			t.Errorf("%s, accepted: %v", name, err)
		}
	}
	for key, set := range map[string][]string{
		"tune.trials":                   {"tune.trials=1"},
		"tune.score_clip":               {"tune.metric=loss"},
		"tune.space.rounds":             {"tune.space.rounds={choice=[3, 4]}"},
		"tune.space.privacy.batch_size": {"tune.space.privacy={batch_size={choice=[10, 20]}}"},
	} {
		_, err := privateSearch(t, "", set...)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want an error for %s", set, err, key)
		}
	}
	s, err := privateSearch(t, "", "tune.space.algorithm={name={choice=[\"dsgd\", \"dinno\"]}}", "algorithm.primal_steps=2")
	if err == nil {
		_, err = s.Run(context.Background(), TuneOptions{Out: t.TempDir()})
	}
	if err == nil {
		t.Error("candidates that ask twice as often are compared as if they cost the same")
	}
}

// A score that is released through the gate: its noise has the stated size around the true count (false-reject rate 1e-6), and
// its charge stands in the ledger beside training's, whatever the budget of training.
func TestScoreIsReleasedAndCharged(t *testing.T) {
	for _, set := range [][]string{{}, {"privacy.noise_multiplier=0", "privacy.target_epsilon=1.0"}, {"privacy.noise=exact"}} {
		s, err := privateSearch(t, "trials = 4\nseed = 2\nscore_noise_multiplier = 3.0", set...)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.trial(1, s.candidate(1))
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build("")
		if err != nil {
			t.Fatal(err)
		}
		res := run(t, e, Options{})
		if res.Summary.Score == nil || res.Summary.Privacy[0].Charges != 7 {
			t.Fatalf("%v: score %v, %d charges; want one, and 7", set, res.Summary.Score, res.Summary.Privacy[0].Charges)
		}
		w, err := e.start(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.sim.Run(context.Background(), 6); err != nil {
			t.Fatal(err)
		}
		right := 0
		for i := range e.held {
			for _, r := range e.held[i] {
				z := 0.
				for k, x := range e.split.Train.X.Row(int(r)) {
					z += float64(x) * float64(w.sim.Params(i)[k])
				}
				if (z > 0) == (e.split.Train.Labels[r] == 1) {
					right++
				}
			}
		}
		n := float64(e.validation.Len())
		if sd := 3 * math.Sqrt(3) / n; math.Abs(float64(*res.Summary.Score)-float64(right)/n) > 4.9*sd {
			t.Errorf("%v: score %g, the share of right answers is %g, noise %g", set, *res.Summary.Score, float64(right)/n, sd)
		}
		if _, err := ledger.VerifyRun(res.Dir); err != nil {
			t.Error(err)
		}
		if rows := string(read(t, res.Dir, metricsFile)); strings.Contains(rows, "score") {
			t.Error("held-out figures without noise are in metrics.csv")
		}
	}
}

// An interrupted charged search spends no more than one that was not interrupted.
func TestChargedSearchResumes(t *testing.T) {
	file := privateData(t, "trials = 4\nseed = 4")
	parse := func() *Tuning {
		s, err := ParseTuning("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	files := []string{trialsFile, "best.toml", privacyFile, ledgerFile}
	want := found(t, search(t, parse(), TuneOptions{Workers: 2}).Dir, files...)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := parse().Run(ctx, TuneOptions{Dir: dir, Workers: 1, Progress: func(p TuneProgress) {
		if p.Of != 0 || !math.IsNaN(p.Row.Score) {
			t.Errorf("progress tells %d trials or the score %g of one", p.Of, p.Row.Score)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	search(t, parse(), TuneOptions{Dir: dir})
	if got := found(t, dir, files...); !bytes.Equal(got, want) {
		t.Error("its files differ from those of an uninterrupted search")
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); errors.Is(err, fs.ErrNotExist) {
		t.Error("no runs are left")
	}
}
