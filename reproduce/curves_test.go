package reproduce

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/sweep"
	"sotto/internal/rowfile"
)

// curvesBase is coordinate descent without noise on made tasks.
const curvesBase = `
name = "curves"
seed = 3

[topology]
graph = "similarity"
agents = 100

[data]
dataset = "linear-tasks"
partition = "natural"
dim = 2

[model]
name = "logistic"

[algorithm]
name = "bcd"
smoothness = 0.25

[clock]
wakes = 300

[privacy]
mechanism = "none"

[evaluate]
on = "own"
every = 100
`

// checkTwoFiles leaves what a shard does that was killed before its row: metrics that
// another division into shards has made again.
func checkTwoFiles(t *testing.T, dir string, curves []byte) {
	t.Helper()
	first, err := readCurves(dir)
	path := filepath.Join(dir, "curves-0-of-3.csv")
	if err = errors.Join(err, os.WriteFile(path, curves, 0o644)); err != nil {
		t.Fatal(err)
	}
	if again, err := readCurves(dir); err != nil || !maps.EqualFunc(first, again, slices.Equal) {
		t.Errorf("metrics of two files count twice: %v", err)
	}
}

// Kept metrics read back by run and round; those of every agent have the mean that the
// row says. A torn last line is dropped, a line that is there twice counts once, and
// other columns and bad values are refused.
func TestCurves(t *testing.T) {
	dir := t.TempDir()
	cells := []sweep.Cell{{Values: []string{"1"}, Set: []string{"algorithm.mu=1"}},
		{Values: []string{"2"}, Set: []string{"algorithm.mu=2"}}}
	var rows []sweep.Row
	study := Study{
		Axes:   []string{"mu"},
		Base:   curvesBase,
		Cells:  TwoSizes(func(bool) []sweep.Cell { return cells }),
		Curves: true,
		Agents: true,
		Report: func(f *Results) *Document { rows = f.Rows; return &Document{} },
	}
	paper := Papers{{Name: "citation", Key: "key", Studies: map[string]Study{"curves": study}}}
	if _, err := paper.Run(t.Context(), "citation-curves", Options{Dir: dir, Scale: Smoke}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "curves.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkTwoFiles(t, dir, b)
	for name, text := range map[string]string{"whole": string(b),
		"twice": string(b) + strings.SplitN(string(b), "\n", 2)[1], "torn": string(b) + "00ff,3"} {
		all := Curves{}
		kept, err := rowfile.Decode(path, []byte(text), curveCodec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all.add(kept)
		for k := range rows {
			rounds, values := series(all.of(&rows[k]), "accuracy", "mean")
			if !slices.Equal(rounds, []uint64{0, 100, 200, 300}) ||
				math.Abs(values[3]-rows[k].Accuracy.Mean) > 1e-7 {
				t.Errorf("%s: accuracies %v in rounds %v, the row has %v", name, values, rounds,
					rows[k].Accuracy.Mean)
			}
			var own Sample
			for _, r := range all.of(&rows[k]) {
				if _, err := strconv.Atoi(r.Agent); err == nil {
					own = append(own, r.Value)
				}
			}
			if len(own) != 100 || math.Abs(own.Mean()-rows[k].Accuracy.Mean) > 1e-7 {
				t.Errorf("%s: %d agents of mean accuracy %v", name, len(own), own.Mean())
			}
		}
	}
	all, err := readCurves(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := tidyCurves(dir, rows, all); err != nil {
		t.Fatal(err)
	}
	once, _ := os.ReadFile(path)
	slices.Reverse(rows)
	if err := tidyCurves(dir, rows, all); err != nil {
		t.Fatal(err)
	}
	again, _ := os.ReadFile(path)
	if len(once) != len(again) || string(once) == string(again) {
		t.Error("the order of the file is not that of the rows")
	}
	head := strings.Join(curveColumns, ",") + "\n"
	for _, text := range []string{"a,b\n1,2\n", head + "aa,3,fma,x,mean,accuracy,1\n",
		head + "aa,3,fma,1,mean,accuracy,none\n"} {
		if _, err := rowfile.Decode(path, []byte(text), curveCodec); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Rows whose kept metrics are gone, all or those of one run, are refused in words: some
// reports would end the program.
func TestCurvesGone(t *testing.T) {
	study := Study{
		Axes: []string{"mu"},
		Base: curvesBase,
		Cells: TwoSizes(func(bool) []sweep.Cell {
			return []sweep.Cell{{Values: []string{"1"}, Set: []string{"algorithm.mu=1"}},
				{Values: []string{"2"}, Set: []string{"algorithm.mu=2"}}}
		}),
		Curves: true,
		Report: func(f *Results) *Document {
			for i := range f.Rows {
				_ = slices.Max(f.Curves.last(f.Rows[i:i+1], "accuracy", "mean"))
			}
			return &Document{}
		},
	}
	dir, paper := t.TempDir(), Papers{{Name: "citation", Key: "key", Studies: map[string]Study{"s": study}}}
	if _, err := paper.Run(t.Context(), "key-s", Options{Dir: dir, Scale: Smoke}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "curves.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	first := lines[1][:16]
	last := slices.IndexFunc(lines[1:], func(l string) bool { return !strings.HasPrefix(l, first) }) + 1
	for text, found := range map[string]string{strings.Join(lines[:last], ""): "none of 1 of 2 runs",
		lines[0]: "none of 2 of 2 runs"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, finished := range []bool{true, false} {
			var bad *config.Error
			_, err := paper.Run(t.Context(), "key-s", Options{Dir: dir, Scale: Smoke, Finished: finished})
			if !errors.As(err, &bad) || bad.File != path || bad.Found != found {
				t.Errorf("finished %v: %v, want %s", finished, err, found)
			}
		}
	}
}
