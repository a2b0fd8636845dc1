package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/experiment/runfile"
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

func tinySearch(t *testing.T, keys string, set ...string) *Search {
	t.Helper()
	s, err := Parse("tiny.toml", fmt.Appendf(nil, tinyTuning, keys), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func search(t *testing.T, s *Search, opt Options) *Result {
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
	methodPBT: {"method = \"pbt\"\npopulation = 5\ninterval = 2", 15,
		[]string{trialsFile, "best.toml", rundir.ModelFile}},
}

// A search leaves the same files for any number of workers, and after any interruption,
// with a row torn by a crash.
func TestSearchIsDeterministicAndResumable(t *testing.T) {
	for method, tc := range searches {
		want := found(t, search(t, tinySearch(t, tc.keys), Options{Workers: 1}).Dir, tc.files...)
		if got := found(t, search(t, tinySearch(t, tc.keys), Options{Workers: 3}).Dir,
			tc.files...); !bytes.Equal(got, want) {
			t.Errorf("%s: three workers find something else than one", method)
		}
		for stop := 1; stop < tc.rows; stop += tc.rows / 3 {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			_, err := tinySearch(t, tc.keys).Run(ctx,
				Options{Dir: dir, Workers: 2, Progress: func(p Progress) {
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
			search(t, tinySearch(t, tc.keys),
				Options{Dir: dir, Workers: 2, Progress: func(Progress) { ran++ }})
			if got := found(t, dir, tc.files...); !bytes.Equal(got, want) {
				t.Errorf("%s stopped after %d trials: its files differ from an uninterrupted search's",
					method, stop)
			}
			if ran > tc.rows-stop {
				t.Errorf("%s stopped after %d trials: %d ran again", method, stop, ran)
			}
		}
		dir := t.TempDir()
		search(t, tinySearch(t, tc.keys), Options{Dir: dir})
		search(t, tinySearch(t, tc.keys), Options{Dir: dir, Progress: func(p Progress) {
			t.Errorf("%s: a finished search runs trial %v again", method, p)
		}})
		if got := found(t, search(t, tinySearch(t, tc.keys, "tune.seed=2"), Options{}).Dir,
			tc.files...); bytes.Equal(got, want) {
			t.Errorf("%s: another seed draws the same candidates", method)
		}
	}
}

// The best trial is the one with the highest score of records held out, best.toml runs
// with its values, and says how it was found.
func TestBestIsARunFile(t *testing.T) {
	res := search(t, tinySearch(t, "trials = 6"), Options{})
	top := res.Rows[0]
	for _, r := range res.Rows {
		if r.Score > top.Score {
			top = r
		}
		s := readSummary(t, filepath.Join(res.Dir, r.Run))
		if float64(s.Accuracy.Mean) != r.Score {
			t.Errorf("trial %d scores %g, its run's accuracy on held-out records is %g", r.Trial, r.Score,
				s.Accuracy.Mean)
		}
	}
	if res.Best.Trial != top.Trial {
		t.Errorf("trial %d is chosen, trial %d scores most", res.Best.Trial, top.Trial)
	}
	f, err := experiment.Read(filepath.Join(res.Dir, "best.toml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	if e.Task.HeldOut != nil || f.Evaluate.On != "all" || f.Run.Trial != 0 ||
		e.Task.Split.Train.Len() != 150 {
		t.Error("best.toml keeps settings of a trial")
	}
	for i, key := range res.Keys {
		if got := keyValue(t, e, key); got != strings.Trim(top.Values[i], `"'`) {
			t.Errorf("best.toml: %s is %s, the best trial's is %s", key, got, top.Values[i])
		}
	}
	s := train(t, e).Summary
	if !strings.Contains(s.Tuned, "tuned on glyphs") || !strings.Contains(s.Tuned, "no privacy cost") {
		t.Errorf("the run says %q of its tuning", s.Tuned)
	}
}

// keyValue is what the effective configuration says.
func keyValue(t *testing.T, e *experiment.Experiment, key string) string {
	t.Helper()
	doc, err := runfile.Parse("config.toml", e.Effective)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Values()[key]
}

func readSummary(t *testing.T, dir string) (s rundir.Summary) {
	t.Helper()
	if err := json.Unmarshal(read(t, dir, rundir.SummaryFile), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A table of another version is refused, and left as it is.
func TestTableOfAnotherVersion(t *testing.T) {
	const header = "trial,score\n"
	dir := t.TempDir()
	path := filepath.Join(dir, trialsFile)
	if err := os.WriteFile(path, []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := tinySearch(t, "").Run(context.Background(), Options{Dir: dir}); !errors.As(err, &bad) ||
		bad.File != path || bad.Line != 1 {
		t.Errorf("a table of another version: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != header {
		t.Errorf("it is overwritten: %s, %v", b, err)
	}
}

// train runs e to its end.
func train(t *testing.T, e *experiment.Experiment) *run.Result {
	t.Helper()
	r, err := run.Run(t.Context(), e, run.Options{Out: t.TempDir()})
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

// A search's directory follows what is searched, not how that is written or given: a
// charged search that is made again is the same one.
func TestSearchDirectory(t *testing.T) {
	of := func(s *Search) string {
		digest, err := s.digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	want := of(tinySearch(t, "trials = 3", "rounds=4", "topology.agents=4"))
	for _, same := range []*Search{
		tinySearch(t, "# a comment\ntrials = 3", "rounds=4", "topology.agents=4"),
		tinySearch(t, "trials = 3", "topology.agents=4", "rounds=4"),
		tinySearch(t, "", "topology.agents=4", "rounds=4", "tune.trials=3"),
	} {
		if of(same) != want {
			t.Error("the same search has another directory")
		}
	}
	for _, other := range []*Search{
		tinySearch(t, "trials = 4", "rounds=4", "topology.agents=4"),
		tinySearch(t, "trials = 3", "rounds=4"),
		tinySearch(t, "trials = 3\nseed = 2", "rounds=4", "topology.agents=4"),
	} {
		if of(other) == want {
			t.Error("another search has the same directory")
		}
	}
}
