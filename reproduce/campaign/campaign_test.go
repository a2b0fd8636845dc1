package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/sweep"
	"sotto/reproduce"
)

const base = `
name = "small"
rounds = 3

[topology]
agents = 2
graph = "complete"

[data]
dataset = "least-squares"
partition = "natural"
records = 20
dim = 2
agents = 2

[model]
name = "least-squares"

[algorithm]
name = "dsgd"
step_size = 0.1

[privacy]
noise_multiplier = 1.0
max_grad_norm = 1.0
sample_rate = 0.5
`

// study has so many runs, which differ in the seed.
func study(runs int, settings ...string) reproduce.Study {
	return reproduce.Study{
		Title: "small runs", Axes: []string{"seed"}, Base: base,
		Cells: reproduce.TwoSizes(func(bool) (cells []sweep.Cell) {
			for i := range runs {
				cells = append(cells, sweep.Cell{Values: []string{fmt.Sprint(i)},
					Set: append([]string{fmt.Sprintf("seed=%d", i+1)}, settings...)})
			}
			return cells
		}),
		Report: func(f *reproduce.Results) *reproduce.Document {
			d := &reproduce.Document{Header: []string{"seed", "run hash"}}
			for _, r := range f.Rows {
				d.Add(r.Values[0], r.RunHash)
			}
			return d
		},
	}
}

// small are four folders; made counts how often the study that is no sweep was made.
func small(made *int) reproduce.Papers {
	whole := func(context.Context, reproduce.Options) (*reproduce.Document, error) {
		*made++
		return &reproduce.Document{Header: []string{"one"}}, nil
	}
	return reproduce.Papers{{Name: "small", Key: "small", Studies: map[string]reproduce.Study{
		"a": study(1),
		"b": study(7),
		"c": study(7), // reads the runs of b
		"d": {Title: "made whole", Make: whole},
		"e": study(4, "rounds=2"),
	}}}
}

func TestPartsAreDealtOut(t *testing.T) {
	parts, err := Parts(small(new(int)), nil, reproduce.Short)
	if err != nil || len(parts) != 4 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if got := fmt.Sprint(parts[1].Studies); got != "[small-b small-c]" {
		t.Errorf("studies with the same runs: %s", got)
	}
	for shards := 1; shards < 16; shards++ {
		load := make([]int, shards)
		for _, p := range parts {
			for s := range shards {
				for i := p.share(s, shards); i < p.Runs; i += shards {
					load[s]++
				}
			}
		}
		total := 0
		for _, n := range load {
			if n < load[shards-1] || n > load[0] || load[0]-n > 1 {
				t.Errorf("%d shards: %v", shards, load)
			}
			total += n
		}
		if total != 13 {
			t.Errorf("%d shards make %d runs of 13", shards, total)
		}
	}
	var bad *config.Error
	if _, err := Parts(small(new(int)), []string{"small-x"}, reproduce.Full); !errors.As(err, &bad) {
		t.Errorf("unknown study: %v", err)
	}
	if _, err := Parts(small(new(int)), nil, "huge"); !errors.As(err, &bad) {
		t.Errorf("unknown scale: %v", err)
	}
}

// Three shards, one of them stopped after its first run, leave the files of one process.
func TestShardsLeaveWhatOneProcessDoes(t *testing.T) {
	made := 0
	one := Options{Dir: t.TempDir(), Scale: reproduce.Full}
	one.Sweep.Workers = 1
	if err := Run(t.Context(), small(&made), one); err != nil {
		t.Fatal(err)
	}
	if err := Merge(t.Context(), small(&made), one); err != nil {
		t.Fatal(err)
	}
	many := one
	many.Dir, many.Sweep.Shards = filepath.Join(t.TempDir(), "a [1]*"), 3 // no pattern
	if err := Merge(t.Context(), small(&made), many); err == nil {
		t.Error("nothing has been run, and nothing is missing")
	}
	made = 0
	for s := range 3 {
		o := many
		o.Sweep.Shard = s
		ctx, cancel := context.WithCancel(t.Context())
		if s == 1 {
			o.Progress = func(string, sweep.Progress) { cancel() }
		}
		if err := Run(ctx, small(&made), o); (err != nil) != (s == 1) {
			t.Fatalf("shard %d: %v", s, err)
		}
		cancel()
	}
	if err := Merge(t.Context(), small(&made), many); err == nil {
		t.Error("runs of a stopped shard are missing, and nobody says so")
	}
	many.Sweep.Shard = 1
	for range 2 { // the second time there is nothing to do
		if err := Run(t.Context(), small(&made), many); err != nil {
			t.Fatal(err)
		}
	}
	few := many
	few.Sweep.Shards = 1
	var bad *config.Error
	if err := Merge(t.Context(), small(&made), few); !errors.As(err, &bad) || bad.Key != "shards" {
		t.Errorf("three shards, merged as one, which leaves no cells.csv: %v", err)
	}
	if err := Merge(t.Context(), small(&made), many); err != nil {
		t.Fatal(err)
	}
	if made != 1 {
		t.Errorf("the whole study was made %d times", made)
	}
	for _, name := range []string{"small-a/cells.csv", "small-b/cells.csv", "small-b/small-b.md",
		"small-b/small-c.csv", "small-d/small-d.csv", "small-e/cells.csv"} {
		want, err := os.ReadFile(filepath.Join(one.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(many.Dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// A study that cannot run is named, and the others run.
func TestOneStudyFails(t *testing.T) {
	papers := small(new(int))
	papers[0].Studies["a"] = study(2, `model.name="none"`)
	o := Options{Dir: t.TempDir(), Scale: reproduce.Full}
	if err := Run(t.Context(), papers, o); err == nil || !strings.Contains(err.Error(), "small-a") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "small-e", "cells.csv")); err != nil {
		t.Error(err)
	}
	o.Sweep.Shard, o.Sweep.Shards = 3, 3
	if err := Run(t.Context(), papers, o); err == nil {
		t.Error("shard 3 of 3 runs")
	}
}

func TestJobs(t *testing.T) {
	type job struct {
		Job
		s Slurm
		k Kubernetes
	}
	good := job{Job{Shards: 100, Cores: 2, MemoryGB: 8, Scale: reproduce.Short, Dir: "/a b/$(x)",
		DataDir: "/data"}, Slurm{Hours: 24}, Kubernetes{"a.example/sotto:1", "results", "data", 3}}
	script, err := good.Slurm(good.s)
	if err != nil {
		t.Fatal(err)
	}
	// the shell gives the program the words of Args
	c := exec.Command("sh")
	c.Stdin = strings.NewReader(strings.Replace(string(script), "exec sotto", `printf '%s\n'`, 1))
	out, err := c.CombinedOutput()
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil ||
		fmt.Sprintf("%q", got) != fmt.Sprintf("%q", good.Args()) {
		t.Errorf("%v: %q, want %q", err, got, good.Args())
	}
	if !strings.Contains(string(script), "#SBATCH --array=0-99%100\n") {
		t.Errorf("%s", script)
	}
	if _, err := good.Kubernetes(good.k); err != nil { // folder manifest reads it
		t.Error(err)
	}
	for key, change := range map[string]func(*job){
		"shards":     func(j *job) { j.Shards = 0 },
		"parallel":   func(j *job) { j.Parallel = -1 },
		"cores":      func(j *job) { j.Cores = 0 },
		"memory":     func(j *job) { j.MemoryGB = 0 },
		"hours":      func(j *job) { j.s.Hours = 0 },
		"retries":    func(j *job) { j.k.Retries = -1 },
		"dir":        func(j *job) { j.Dir = "relative" },
		"data-dir":   func(j *job) { j.DataDir = "/a\n#SBATCH --x" },
		"partition":  func(j *job) { j.s.Partition = "a b" },
		"dir ":       func(j *job) { j.Dir = "/a\x1bb" },
		"dir  ":      func(j *job) { j.Dir = "/a:b" },
		"data-dir ":  func(j *job) { j.DataDir = "/data:1" },
		"data-dir  ": func(j *job) { j.DataDir = j.Dir + "/" },
		"image":      func(j *job) { j.k.Image = "a\"\n" },
		"claim":      func(j *job) { j.k.Claim = "" },
		"data-claim": func(j *job) { j.k.Data = "-" },
	} {
		j := good
		change(&j)
		var bad *config.Error
		_, slurm := j.Slurm(j.s)
		_, kubernetes := j.Kubernetes(j.k)
		if err := errors.Join(slurm, kubernetes); !errors.As(err, &bad) ||
			bad.Key != strings.TrimSpace(key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Kubernetes gives the program the folder that it mounts: it reads $(NAME) and $$ in
// arguments, not in mounts.
func TestDollarsInAManifest(t *testing.T) {
	j := Job{Shards: 2, Cores: 1, MemoryGB: 1, Scale: reproduce.Short, Dir: "/a$$b$(JOB_COMPLETION_INDEX)",
		DataDir: "/data"}
	b, err := j.Kubernetes(Kubernetes{"a.example/sotto:1", "results", "data", 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`- "/a$$$$b$$(JOB_COMPLETION_INDEX)"`,
		`mountPath: "/a$$b$(JOB_COMPLETION_INDEX)"`} {
		if !strings.Contains(string(b), want+"\n") {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
}

// Rows of another size are not taken for those of this one, though they have the same
// places and values.
func TestRowsOfAnotherSize(t *testing.T) {
	s := study(2)
	full := s.Cells
	s.Cells = func(size reproduce.Scale) []sweep.Cell {
		cells := full(size)
		if size == reproduce.Smoke {
			for i := range cells {
				cells[i].Set = append(cells[i].Set, "rounds=1")
			}
		}
		return cells
	}
	papers := reproduce.Papers{{Name: "small", Key: "small", Studies: map[string]reproduce.Study{"a": s}}}
	o := reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke}
	if _, err := papers.Run(t.Context(), "small-a", o); err != nil {
		t.Fatal(err)
	}
	o.Finished = true
	if d, err := papers.Run(t.Context(), "small-a", o); err != nil || len(d.Rows) != 2 || d.Notes != nil {
		t.Errorf("of its own size: %v, %v", d, err)
	}
	o.Scale = reproduce.Full
	var bad *config.Error
	if _, err := papers.Run(t.Context(), "small-a", o); !errors.As(err, &bad) || bad.Key != "rows" {
		t.Errorf("smoke rows at full size: %v", err)
	}
}

// A study that is made whole is made again at another size, and merged at its own alone.
func TestWholeStudyOfAnotherSize(t *testing.T) {
	made := 0
	o := Options{Dir: t.TempDir(), Scale: reproduce.Smoke, Studies: []string{"small-d"}}
	for _, want := range []int{1, 1} {
		if err := Run(t.Context(), small(&made), o); err != nil || made != want {
			t.Fatalf("%v, made %d times, want %d", err, made, want)
		}
	}
	o.Scale = reproduce.Full
	err := Merge(t.Context(), small(&made), o)
	if err == nil || !strings.Contains(err.Error(), "scale smoke") {
		t.Errorf("a smoke table merged at full size: %v", err)
	}
	if err := Run(t.Context(), small(&made), o); err != nil || made != 2 {
		t.Errorf("%v, made %d times, want 2", err, made)
	}
	if err := Merge(t.Context(), small(&made), o); err != nil {
		t.Error(err)
	}
}

// A row that is missing, or that does not count, is named, and no table is written.
func TestMergeNamesWhatIsMissing(t *testing.T) {
	o := Options{Dir: t.TempDir(), Scale: reproduce.Full, Studies: []string{"small-e"}}
	papers := small(new(int))
	if err := Run(t.Context(), papers, o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, "small-e", "cells.csv")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(o.Dir, "small-e", "small-e.csv")
	if err := os.WriteFile(table, []byte("finished"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	old := strings.Replace(lines[3], ","+experiment.EngineVersion+",fma,", ",0,fma,", 1)
	old = strings.Replace(old, ","+experiment.EngineVersion+",portable,", ",0,portable,", 1)
	for name, rows := range map[string][]string{
		"gone":              slices.Concat(lines[:3], lines[4:]),
		"of another engine": slices.Concat(lines[:3], []string{old}, lines[4:]),
	} {
		if err := os.WriteFile(path, []byte(strings.Join(rows, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		err := Merge(t.Context(), papers, o)
		if err == nil || !strings.Contains(err.Error(), "small-e: ") ||
			!strings.Contains(err.Error(), "cell 2") {
			t.Errorf("a row is %s: %v", name, err)
		}
		if b, err := os.ReadFile(table); err != nil || string(b) != "finished" {
			t.Errorf("a row is %s, and the table is %q, %v", name, b, err)
		}
	}
	o.Sweep.Shards = -5
	var bad *config.Error
	if err := Merge(t.Context(), papers, o); !errors.As(err, &bad) || bad.Key != "shards" {
		t.Errorf("-5 shards: %v", err)
	}
}

// A run's time is there before its row: without it there is no row, and the run is made
// again.
func TestTimeComesBeforeTheRow(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "times.csv"), 0o755); err != nil {
		t.Fatal(err)
	}
	papers := small(new(int))
	o := reproduce.Options{Dir: dir, Scale: reproduce.Full}
	if _, err := papers.Run(t.Context(), "small-a", o); err == nil {
		t.Fatal("times were written into a directory")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cells.csv"))
	if err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("a row without a time: %s, %v", b, err)
	}
}
