package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

const tinySweep = `
rounds = 3
[topology]
agents = 3
[data]
dataset = "glyphs"
train = 90
test = 30
[model]
hidden = [4]
[privacy]
mechanism = "none"
max_grad_norm = 1.0
batch_size = 10
[sweep]
topology.graph = ["ring", "complete"]
"algorithm.step_size" = [0.1, 0.5]
seed = [7, 8]
`

func tiny(t *testing.T, axes ...string) *Sweep {
	t.Helper()
	s, err := Parse("tiny.toml", []byte(tinySweep), nil, axes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// All combinations, keys in alphabetical order, seeds innermost; a flag replaces the
// file's list.
func TestSweepCells(t *testing.T) {
	s := tiny(t)
	want := []string{
		"algorithm.step_size=0.1 topology.graph=ring seed=7",
		"algorithm.step_size=0.1 topology.graph=ring seed=8",
		"algorithm.step_size=0.1 topology.graph=complete seed=7",
		"algorithm.step_size=0.1 topology.graph=complete seed=8",
		"algorithm.step_size=0.5 topology.graph=ring seed=7",
		"algorithm.step_size=0.5 topology.graph=ring seed=8",
		"algorithm.step_size=0.5 topology.graph=complete seed=7",
		"algorithm.step_size=0.5 topology.graph=complete seed=8",
	}
	if s.Cells() != len(want) {
		t.Fatalf("%d cells, want %d", s.Cells(), len(want))
	}
	for i, w := range want {
		f, err := s.Cell(i)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.describe(i); got != w {
			t.Errorf("cell %d is %s, want %s", i, got, w)
		}
		if got := fmt.Sprintf("topology.graph=%s seed=%d", f.Topology.Graph,
			f.Run.Seed); !strings.HasSuffix(w,
			got) {
			t.Errorf("cell %d decodes to %s, want %s", i, got, w)
		}
	}
	if s := tiny(t, "topology.graph=path,star,ring", "seed=1"); s.Cells() != 6 {
		t.Errorf("%d cells with flags, want 6", s.Cells())
	}
}

func sweepTo(t *testing.T, s *Sweep, opt Options) (dir string, cells []byte) {
	t.Helper()
	res, err := s.Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(res.Dir, cellsName(opt.Shard, max(1, opt.Shards))))
	if err != nil {
		t.Fatal(err)
	}
	return res.Dir, b
}

// A sweep gives the same file for any number of workers, after any interruption, with a
// row torn by a crash, and in shards that are merged.
func TestSweepIsResumable(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir(), Workers: 1})
	if _, got := sweepTo(t, tiny(t),
		Options{Out: t.TempDir(), Workers: 3, Discard: true}); !bytes.Equal(got, want) {
		t.Error("three workers give other rows than one")
	}
	for stop := 1; stop < 8; stop += 3 {
		out := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		_, err := tiny(t).Run(ctx, Options{Out: out, Workers: 2, Progress: func(p Progress) {
			if p.Done == stop {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d cells: %v", stop, err)
		}
		files, err := filepath.Glob(filepath.Join(out, "*", "cells.csv"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("7,0.5,comp") // a crash in the middle of a row
		f.Close()
		ran := 0
		if _, err := tiny(t).Run(context.Background(),
			Options{Out: out, Workers: 2, Progress: func(Progress) { ran++ }}); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(files[0]); !bytes.Equal(got, want) {
			t.Errorf("stopped after %d cells: the file differs from an uninterrupted sweep's", stop)
		}
		if ran > 8-stop {
			t.Errorf("stopped after %d cells: %d cells ran again", stop, ran)
		}
	}

	out := t.TempDir()
	var paths []string
	for shard := range 3 {
		dir, _ := sweepTo(t, tiny(t), Options{Out: out, Part: Part{Shard: shard, Shards: 3}})
		paths = append(paths, filepath.Join(dir, cellsName(shard, 3)))
	}
	if got, err := Merge(paths); err != nil || !bytes.Equal(got, want) {
		t.Errorf("merged shards differ from one sweep: %v", err)
	}
	if _, err := Merge(paths[1:]); err == nil {
		t.Error("a shard is missing and nothing was said")
	}
	other := filepath.Join(t.TempDir(), "cells.csv")
	b, _ := os.ReadFile(paths[0])
	os.WriteFile(other, bytes.Replace(b, []byte(",ring,"), []byte(",star,"), 1), 0o644)
	if _, err := Merge(append(paths, other)); err == nil {
		t.Error("two rows of one cell differ and nothing was said")
	}
}

// A sweep that is stopped before it has come to the rows of earlier processes said that
// none was done.
func TestStoppedSweepCountsFormerCells(t *testing.T) {
	out := t.TempDir()
	sweepTo(t, tiny(t), Options{Out: out, Workers: 2})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tiny(t).Run(ctx, Options{Out: out, Workers: 2})
	if err == nil || !strings.Contains(err.Error(), ": 8 of 8 cells are done") {
		t.Errorf("of eight finished cells: %v", err)
	}
}

// Of ten shards of 8 cells, the last that has a cell is missed as any other.
func TestTheLastShardIsMissed(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir()})
	const shards = 10
	out, paths := t.TempDir(), make([]string, shards)
	for shard := range paths {
		dir, _ := sweepTo(t, tiny(t), Options{Out: out, Part: Part{Shard: shard, Shards: shards}})
		paths[shard] = filepath.Join(dir, cellsName(shard, shards))
	}
	if got, err := MergeAll(paths); err != nil || !bytes.Equal(got, want) {
		t.Errorf("all shards: %v", err)
	}
	var bad *config.Error
	if _, err := MergeAll(slices.Delete(paths, 7, 8)); !errors.As(err, &bad) || bad.Key != "shard" {
		t.Errorf("without the last: %v", err)
	}
}

// Shards of two sweeps, of two engines and of two arithmetics are not joined.
func TestMergeOfTwoSweeps(t *testing.T) {
	out := t.TempDir()
	part := func(shard int) string {
		dir, _ := sweepTo(t, tiny(t), Options{Out: out, Part: Part{Shard: shard, Shards: 2}})
		return filepath.Join(dir, cellsName(shard, 2))
	}
	one, two := part(0), part(1)
	b, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := ReadRows(two)
	if err != nil {
		t.Fatal(err)
	}
	bits := "," + experiment.EngineVersion + "," + rows[0].Arithmetic + ","
	for key, c := range map[string]struct{ dir, bits string }{
		"sweep":      {"tiny-sweep-00000000", bits},
		"engine":     {"elsewhere", ",0," + rows[0].Arithmetic + ","},
		"arithmetic": {"elsewhere", "," + experiment.EngineVersion + ",other,"},
		"":           {"elsewhere", bits},
	} {
		dir := filepath.Join(t.TempDir(), c.dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "cells-1-of-2.csv")
		if err := os.WriteFile(other, bytes.ReplaceAll(b, []byte(bits), []byte(c.bits)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Merge([]string{one, other})
		var bad *config.Error
		if (err != nil) != (key != "") || err != nil && (!errors.As(err, &bad) || bad.Key != key) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// Shards in a folder of no sweep are held against the run file: those of another one are
// refused, and so is a table that lacks its last rows.
func TestMergeHoldsRowsAgainstTheRunFile(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir()})
	other, err := Parse("other.toml", []byte(tinySweep), []string{"rounds=2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	flat, out := t.TempDir(), t.TempDir()
	shard := func(s *Sweep, shard int, name string) string {
		_, b := sweepTo(t, s, Options{Out: out, Part: Part{Shard: shard, Shards: 2}})
		path := filepath.Join(flat, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := []string{shard(tiny(t), 0, "a.csv"), shard(tiny(t), 1, "b.csv")}
	mixed := []string{own[0], shard(other, 1, "c.csv")}
	bad := new(config.Error)
	if _, err := MergeAll(mixed); !errors.As(err, &bad) || bad.Key != "sweep" {
		t.Errorf("nothing says of which sweep: %v", err)
	}
	if got, err := tiny(t).MergeAll(own, ""); err != nil || !bytes.Equal(got, want) {
		t.Errorf("held against its run file: %v", err)
	}
	if _, err := tiny(t).MergeAll(mixed, ""); !errors.As(err, &bad) || bad.Key != "config_digest" ||
		!strings.Contains(bad.Allowed, "cell 1, ") {
		t.Errorf("of two run files: %v", err)
	}
	less := tiny(t, "seed=7,8,9")
	if _, err := less.MergeAll(own, ""); !errors.As(err, &bad) || bad.Key != "cell" {
		t.Errorf("too few: %v", err)
	}
	if _, err := tiny(t).MergeAll(nil, ""); err == nil {
		t.Error("no file is no table")
	}
}

// A cell killed in the middle goes on from its checkpoint, and rows of another engine are
// replaced.
func TestSweepReplacesForeignRows(t *testing.T) {
	out := t.TempDir()
	dir, want := sweepTo(t, tiny(t), Options{Out: out})
	path := filepath.Join(dir, "cells.csv")
	codec, err := readCellCodec(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowfile.Decode(path, want, codec)
	if err != nil {
		t.Fatal(err)
	}
	rows[3].Engine, rows[3].RunHash = "0", "ffff"
	os.WriteFile(path, rowfile.Encode(rows, codec), 0o644)
	if _, got := sweepTo(t, tiny(t), Options{Out: out}); !bytes.Equal(got, want) {
		t.Error("the row of another engine was kept")
	}
}

// Axes of either spelling, of a file and of a flag, are one axis.
func TestSweepOfSecondSpellings(t *testing.T) {
	base := strings.Split(tinySweep, "[sweep]")[0]
	var files []string
	for _, tc := range []struct {
		section string
		axes    []string
	}{
		{"[sweep]\nevaluate.parameter_rmse = [false]", nil},
		{"[sweep]\n\"evaluate.estimation\" = [false]", nil},
		{"[sweep]\nevaluate.estimation = [true, false]", []string{"evaluate.parameter_rmse=false"}},
	} {
		s, err := Parse("f.toml", []byte(base+tc.section), nil, tc.axes)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fmt.Sprint(s.Axes, s.cells))
	}
	if files[0] != files[1] || files[0] != files[2] ||
		!strings.Contains(files[0], "evaluate.estimation=false") {
		t.Error(files)
	}
}

func TestBadSweeps(t *testing.T) {
	base := strings.Split(tinySweep, "[sweep]")[0]
	var numbers strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&numbers, "%d,", i+1)
	}
	numbers.WriteString("1201")
	for name, tc := range map[string]struct {
		section string
		axes    []string
		key     string
	}{
		"nothing to vary": {"", nil, "sweep"},
		"not a list":      {"[sweep]\nseed = 3", nil, "sweep.seed"},
		"empty list":      {"[sweep]\nseed = []", nil, "sweep.seed"},
		"not a section":   {"", []string{"seed"}, ""},
		"too many cells": {"", []string{"seed=" + numbers.String(), "rounds=" + numbers.String()},
			"seed"},
		"one value twice":          {"", []string{"seed=3,4,3"}, "seed"},
		"one value twice in lists": {"[sweep]\nseed = [3, 4, 3]", nil, "sweep.seed"},
		"two spellings": {"[sweep]\ntopology.activation = [\"pairwise\"]\ntopology.wake = [\"pair\"]", nil,
			"sweep.topology.wake"},
		"bad value": {"[sweep]\nrounds = [-1, 5]", nil, "rounds"},
	} {
		_, err := Parse("f.toml", []byte(base+tc.section), nil, tc.axes)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != tc.key {
			t.Errorf("%s: %v, want a config.Error for %q", name, err, tc.key)
		}
		if from := "--sweep"; (tc.axes != nil) != (bad != nil && bad.File == from) {
			t.Errorf("%s: %v, want %s named where it gave the value", name, err, from)
		}
	}
	s, err := Parse("f.toml", []byte(base+"[sweep]\nalgorithm.stepsize = [1, 2]"), nil, nil)
	if err == nil {
		_, err = s.Run(context.Background(), Options{Out: t.TempDir()})
	}
	var bad *config.Error
	if !errors.As(err, &bad) || bad.File != "[sweep]" || bad.Key != "algorithm.stepsize" {
		t.Errorf("unknown key: %v", err)
	}
	for key, opt := range map[string]Options{"shard": {Part: Part{Shard: 3, Shards: 3}},
		"shards": {Part: Part{Shards: -1}}, "workers": {Workers: -1}} {
		if _, err := tiny(t).Run(context.Background(), opt); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := experiment.Parse("f.toml", []byte(tinySweep), nil); !errors.As(err, &bad) ||
		bad.Key != "sweep" {
		t.Errorf("a sweep as a single run: %v", err)
	}
}

func FuzzDecodeCells(f *testing.F) {
	row := Row{
		Cell:    1,
		Values:  []string{"ring"},
		Origin:  experiment.Origin{ConfigDigest: "d", Data: "e", Engine: "2", Arithmetic: "fma"},
		RunHash: "h",
	}
	header := cellHeader([]string{"topology.graph"}, asked{})
	f.Add(rowfile.Encode([]Row{row, row}, cellCodec(header)))
	f.Add(rowfile.Encode([]Row{row}, cellCodec(cellHeader([]string{"seed"},
		asked{rmse: true, figures: []string{"auroc"}, data: true}))))
	f.Add([]byte("cell\n"))
	f.Add([]byte("cell,a\n\"\n"))
	path := filepath.Join(f.TempDir(), "cells.csv")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		axes, rows, err := ReadRows(path)
		if err != nil || axes == nil {
			return
		}
		codec, err := readCellCodec(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, rowfile.Encode(rows, codec), 0o644); err != nil {
			t.Fatal(err)
		}
		again, same, err := ReadRows(path)
		if err != nil || len(same) != len(rows) || !slices.Equal(again, axes) {
			t.Errorf("rows do not survive: %v", err)
		}
	})
}

// ReadRows reads what a sweep has written; the progress says how long each run took.
func TestReadCells(t *testing.T) {
	s := tiny(t, "seed=1")
	var seconds []float64
	res, err := s.Run(context.Background(), Options{Out: t.TempDir(), Progress: func(p Progress) {
		sum := p.Split.Gradients + p.Split.Noise + p.Split.Mixing + p.Split.Evaluation + p.Split.Rest
		if !(p.Seconds > 0) || sum > 1.5*p.Seconds+.1 {
			t.Errorf("%s took %g s, its parts %g", p.Cell, p.Seconds, sum)
		}
		seconds = append(seconds, p.Seconds)
	}})
	if err != nil {
		t.Fatal(err)
	}
	axes, rows, err := ReadRows(filepath.Join(res.Dir, "cells.csv"))
	if err != nil || !slices.Equal(axes, s.Axes) || len(rows) != s.Cells() || len(seconds) != s.Cells() {
		t.Fatalf("axes %v, %d rows, %d times of %d cells (%v)", axes, len(rows), len(seconds), s.Cells(), err)
	}
	for i := range rows {
		if !slices.Equal(rows[i].fields(asked{rmse: true}), res.Rows[i].fields(asked{rmse: true})) {
			t.Errorf("cell %d is read as %v", i, rows[i])
		}
	}
	// A stopped sweep whose settings have changed leaves an old row and a new one: the
	// last counts.
	later := rows[0]
	later.Loss, later.ConfigDigest = 42, "changed"
	f, err := os.OpenFile(filepath.Join(res.Dir, "cells.csv"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(strings.Join(later.fields(asked{data: true}), ",") + "\n")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if _, again, err := ReadRows(filepath.Join(res.Dir, "cells.csv")); err != nil ||
		len(again) != len(rows) || again[0].Loss != 42 {
		t.Errorf("%d rows after one of %d was superseded, loss %g (%v)", len(again), len(rows), again[0].Loss,
			err)
	}
	if _, _, err := ReadRows(filepath.Join(res.Dir, "none.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Whoever picks the best of several private runs on private data is told that nobody has
// paid for the choice.
func TestSweepWarning(t *testing.T) {
	private := []string{`privacy.mechanism="gaussian"`, "privacy.noise_multiplier=1"}
	for name, tc := range map[string]struct {
		set  []string
		warn bool
	}{
		"not private": {[]string{`data.dataset="mnist"`}, false},
		"generated":   {private, false},
		"private":     {append([]string{`data.dataset="mnist"`}, private...), true},
	} {
		s, err := Parse("tiny.toml",
			[]byte(strings.NewReplacer("train = 90\n", "", "test = 30\n", "").Replace(tinySweep)), tc.set,
			nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Warning()
		if err != nil {
			t.Fatal(err)
		}
		if tc.warn != strings.Contains(got, "selection not accounted") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A run without classes has no accuracy in its row.
func TestRowWithoutAccuracy(t *testing.T) {
	s := &rundir.Summary{Privacy: make([]rundir.PrivacyLine, 1)}
	if r := newRow(0, nil, s); !math.IsNaN(r.Accuracy.Mean) {
		t.Errorf("a row has accuracy %g", r.Accuracy.Mean)
	}
}

// A table of another version is refused, and left as it is.
func TestTableOfAnotherVersion(t *testing.T) {
	const header = "cell,algorithm.step_size,topology.graph,seed,accuracy\n"
	dir := t.TempDir()
	path := filepath.Join(dir, "cells.csv")
	if err := os.WriteFile(path, []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if _, err := tiny(t).Run(context.Background(), Options{Dir: dir}); !errors.As(err, &bad) ||
		bad.File != path || bad.Line != 1 {
		t.Errorf("a table of another version: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != header {
		t.Errorf("it is overwritten: %s, %v", b, err)
	}
}

// A sweep's directory follows what it runs, not how that is written or given.
func TestSweepDirectory(t *testing.T) {
	of := func(text string, set ...string) string {
		s, err := Parse("tiny.toml", []byte(text), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := s.digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	want := of(tinySweep, "rounds=4", "topology.agents=4")
	for _, same := range []string{
		of("# a comment\n"+tinySweep, "rounds=4", "topology.agents=4"),
		of(tinySweep, "topology.agents=4", "rounds=4"),
		of(strings.Replace(tinySweep, "rounds = 3", "rounds = 4", 1), "topology.agents=4"),
	} {
		if same != want {
			t.Error("the same runs have another directory")
		}
	}
	for _, other := range []string{of(tinySweep), of(tinySweep, "rounds=4"),
		of(strings.Replace(tinySweep, "[7, 8]", "[7, 9]", 1), "rounds=4", "topology.agents=4")} {
		if other == want {
			t.Error("other runs have the same directory")
		}
	}
}

// A value that the command line brought is its fault, not that of the file's section.
func TestBadValueOfAFlag(t *testing.T) {
	for want, axes := range map[string][]string{
		`--sweep: topology.agents: found "x"`: {"topology.agents=x,2"},
		`[sweep]: seed: found "a"`:            nil,
	} {
		text := strings.Replace(tinySweep, "[7, 8]", `["a", "b"]`, 1)
		if axes != nil {
			text = tinySweep
		}
		_, err := Parse("f.toml", []byte(text), nil, axes)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Runs that are not kept are removed though the process that made them was killed, after
// the row or before it.
func TestSweepLeavesNoRuns(t *testing.T) {
	dir, aside := t.TempDir(), t.TempDir()
	opt := Options{Dir: dir, Workers: 1, Discard: true, Keep: func(row Row, res *run.Result) error {
		to := filepath.Join(aside, filepath.Base(res.Dir))
		if _, err := os.Stat(to); err == nil {
			return nil
		}
		return os.CopyFS(to, os.DirFS(res.Dir))
	}}
	sweepTo(t, tiny(t), opt)
	for _, killed := range []string{"after the row", "before the row"} {
		if err := os.CopyFS(filepath.Join(dir, "runs"), os.DirFS(aside)); err != nil {
			t.Fatal(err)
		}
		if killed == "before the row" {
			if err := os.Remove(filepath.Join(dir, cellsName(0, 1))); err != nil {
				t.Fatal(err)
			}
		}
		sweepTo(t, tiny(t), opt)
		if left, err := os.ReadDir(filepath.Join(dir, "runs")); err != nil || len(left) > 0 {
			t.Errorf("killed %s: %v, %d runs are left", killed, err, len(left))
		}
	}
}

// A sweep that nothing has made divided by its number of cells.
func TestSweepOfNothing(t *testing.T) {
	var bad *config.Error
	if _, err := new(Sweep).Run(t.Context(), Options{}); !errors.As(err, &bad) || bad.Key != "cells" {
		t.Error(err)
	}
}
