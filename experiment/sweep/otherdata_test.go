package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

// ownSweep is a sweep over an owner's table, and over an edge list where graph says so.
func ownSweep(t *testing.T, dir, graph string) *Sweep {
	t.Helper()
	text := fmt.Sprintf(`
rounds = 2
[topology]
agents = 3
%s
[data]
dataset = "csv"
path = %q
label = "y"
label_values = ["0", "1"]
[model]
name = "logistic"
[privacy]
mechanism = "none"
max_grad_norm = 1.0
batch_size = 5
[sweep]
seed = [1, 2]
`, graph, filepath.Join(dir, "own.csv"))
	s, err := Parse("own.toml", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writeTable writes a table of one shape whose labels follow the first column, or its
// opposite.
func writeTable(t *testing.T, dir string, opposite int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d,%d,%d\n", i%7, i%5, (i%7/4+opposite)%2)
	}
	if err := os.WriteFile(filepath.Join(dir, "own.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Rows that were made of other data, or of another edge list, are made again: the sweep
// ends as one that never saw the others. Rows of these data are kept.
func TestSweepOfOtherData(t *testing.T) {
	dir := t.TempDir()
	links := filepath.Join(dir, "links.txt")
	writeLinks := func(text string) {
		if err := os.WriteFile(links, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		graph  string
		change func()
	}{
		"table":     {"", func() { writeTable(t, dir, 1) }},
		"edge list": {fmt.Sprintf("graph = \"file\"\npath = %q", links), func() { writeLinks("0 1\n1 2\n") }},
	} {
		for _, opt := range []Options{{}, {Part: Part{Shards: 2}}} {
			writeTable(t, dir, 0)
			writeLinks("0 1\n1 2\n2 0\n")
			opt.Out = t.TempDir()
			_, before := sweepTo(t, ownSweep(t, dir, c.graph), opt)
			c.change()
			at, after := sweepTo(t, ownSweep(t, dir, c.graph), opt)
			_, fresh := sweepTo(t, ownSweep(t, dir, c.graph), Options{Out: t.TempDir(), Part: opt.Part})
			if bytes.Equal(before, fresh) || !bytes.Equal(after, fresh) {
				t.Errorf("%s: rows after the change are\n%s\nbefore\n%s\nof a new sweep\n%s", what, after,
					before, fresh)
			}
			if opt.Shards > 0 {
				continue
			}
			page, err := os.ReadFile(filepath.Join(at, rundir.ReportFile))
			if err != nil || !bytes.Contains(page, []byte("2 runs in 1 setting")) {
				t.Errorf("%s: the page is not of the two runs of these data: %v", what, err)
			}
			ran := 0
			opt.Progress = func(Progress) { ran++ }
			if sweepTo(t, ownSweep(t, dir, c.graph), opt); ran > 0 {
				t.Errorf("%s: %d cells were run again for nothing", what, ran)
			}
		}
	}
}

// A table of an earlier version does not say of which data its rows are. Those of
// generated data stay and are given the digest, those of an owner's file are made again,
// and all are counted.
func TestCellsOfEarlierVersions(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir, 0)
	for what, s := range map[string]func() *Sweep{
		"generated": func() *Sweep { return tiny(t, "topology.graph=ring", "algorithm.step_size=0.5") },
		"owner's":   func() *Sweep { return ownSweep(t, dir, "") },
	} {
		out := t.TempDir()
		at, want := sweepTo(t, s(), Options{Out: out})
		axes, rows, err := ReadRows(filepath.Join(at, "cells.csv"))
		if err != nil || slices.ContainsFunc(rows, func(r Row) bool { return len(r.Data) != 64 }) {
			t.Fatalf("%s: %+v, %v", what, rows, err)
		}
		before := rowfile.Encode(rows, cellCodec(cellHeader(axes, asked{})))
		if err := os.WriteFile(filepath.Join(at, "cells.csv"), before, 0o644); err != nil {
			t.Fatal(err)
		}
		ran, again := 0, 0
		if what == "owner's" {
			again = len(rows)
		}
		if _, got := sweepTo(t, s(), Options{Out: out, Progress: func(Progress) { ran++ }}); ran != again ||
			!bytes.Equal(got, want) {
			t.Errorf("%s: %d cells were run again, want %d:\n%s", what, ran, again, got)
		}
	}
}
