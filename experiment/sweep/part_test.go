package sweep

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/config"
)

// The rows of shards stay valid in the same directory under another division into shards,
// and under none.
func TestSweepTakesOverShards(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir()})
	out := t.TempDir()
	ran := 0
	count := func(Progress) { ran++ }
	sweepTo(t, tiny(t), Options{Out: out, Part: Part{Shard: 0, Shards: 3}})
	sweepTo(t, tiny(t), Options{Out: out, Part: Part{Shard: 1, Shards: 2}, Progress: count})
	if ran != 3 { // of 1, 3, 5 and 7 the first shard of three has 3
		t.Errorf("the second shard of two ran %d cells, want 3", ran)
	}
	ran = 0
	dir, got := sweepTo(t, tiny(t), Options{Out: out, Progress: count})
	if ran != 2 { // 2 and 4
		t.Errorf("the whole sweep ran %d cells, want 2", ran)
	}
	if !bytes.Equal(got, want) {
		t.Error("the whole sweep after shards has other rows than without them")
	}
	rows, err := ReadDir(dir, tiny(t).Axes)
	if err != nil || len(rows) != 8+3+4 {
		t.Errorf("%d rows in all files, want 15: %v", len(rows), err)
	}
	if _, err := ReadDir(dir, []string{"seed"}); !errors.As(err, new(*config.Error)) {
		t.Errorf("files of other axes: %v", err)
	}
}

// A shard's row of other settings is not taken over.
func TestSweepLeavesForeignShards(t *testing.T) {
	out := t.TempDir()
	dir, want := sweepTo(t, tiny(t), Options{Out: out})
	if err := os.Rename(filepath.Join(dir, "cells.csv"), filepath.Join(dir, "cells-0-of-1.csv")); err != nil {
		t.Fatal(err)
	}
	b := bytes.ReplaceAll(want, []byte(",4,"), []byte(",3,")) // the engine
	if bytes.Equal(b, want) {
		t.Fatal("no row names its engine")
	}
	if err := os.WriteFile(filepath.Join(dir, "cells-0-of-1.csv"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	ran := 0
	if _, got := sweepTo(t, tiny(t), Options{Out: out, Progress: func(Progress) { ran++ }}); ran != 8 ||
		!bytes.Equal(got, want) {
		t.Errorf("%d cells ran, want 8", ran)
	}
}

func TestValuesAreComparedAsNumbers(t *testing.T) {
	for _, c := range []struct {
		v, w string
		want bool
	}{{"1", "1.0", true}, {"1e-5", "0.00001", true}, {"ring", "ring", true}, {"ring", "star", false},
		{"1", "2", false}, {"9007199254740993", "9007199254740992", false}, {"", "0", false}} {
		if same(c.v, c.w) != c.want {
			t.Errorf("%q and %q: %v, want %v", c.v, c.w, !c.want, c.want)
		}
	}
}

func TestSweepOnly(t *testing.T) {
	_, want := sweepTo(t, tiny(t), Options{Out: t.TempDir()})
	out := t.TempDir()
	res, err := tiny(t).Run(context.Background(), Options{Out: out,
		Part: Part{Only: map[string]string{"topology.graph": "ring", "seed": "8"}}})
	if err != nil {
		t.Fatal(err)
	}
	var cells []int
	for _, r := range res.Rows {
		cells = append(cells, r.Cell)
		if s := tiny(t); r.Values[slices.Index(s.Axes, "topology.graph")] != "ring" ||
			r.Values[slices.Index(s.Axes, "seed")] != "8" {
			t.Errorf("cell %d has %v", r.Cell, r.Values)
		}
	}
	if len(cells) != 2 {
		t.Errorf("cells %v ran, want two", cells)
	}
	ran := 0
	if _, got := sweepTo(t, tiny(t), Options{Out: out, Progress: func(Progress) { ran++ }}); ran != 6 ||
		!bytes.Equal(got, want) {
		t.Errorf("the others: %d cells ran, want 6, and the same file as in one sweep", ran)
	}
	for _, only := range []map[string]string{{"graph": "ring"}, {"seed": "9"}, {"seed": ""}} {
		var bad *config.Error
		if _, err := tiny(t).Run(context.Background(), Options{Out: t.TempDir(),
			Part: Part{Only: only}}); !errors.As(err,
			&bad) || bad.Key != "only" {
			t.Errorf("%v: %v", only, err)
		}
	}
}
