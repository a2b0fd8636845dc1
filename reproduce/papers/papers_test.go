package papers

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/sweep"
	"sotto/internal/long"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// A row is found among all studies by its digest, and refused where its bits are another
// engine's, another arithmetic's or nobody's.
func TestRow(t *testing.T) {
	axes, rows, err := sweep.ReadRows("../../docs/results/seed000/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	row := rows[len(rows)-1]
	row.Engine = experiment.EngineVersion // whichever made it
	refused := func(key, dir string, r sweep.Row) {
		t.Helper()
		var bad *config.Error
		if _, err := All.Row(axes, &r, dir); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	old := row
	old.Engine = "0"
	refused("engine", "", old)
	unknown := row
	unknown.Values = slices.Clone(row.Values)
	unknown.Values[0] = "neither"
	refused("config_digest", "", unknown)
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs mnist")
	}
	e, err := All.Row(axes, &row, dir)
	if err != nil {
		t.Fatal(err)
	}
	if e.Digest() != row.ConfigDigest {
		t.Errorf("found %s, want %s", e.Digest(), row.ConfigDigest)
	}
	other := row
	other.Arithmetic = "another"
	refused("arithmetic", dir, other)
	altered := row
	altered.ConfigDigest = strings.Repeat("0", 64)
	refused("config_digest", dir, altered)
}

// A simulated study leaves its table and plots; sizes, sweeps' options and directories
// that do not fit are refused.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	d, err := All.Run(context.Background(), "seed000-convergence",
		reproduce.Options{Dir: dir, Scale: reproduce.Smoke})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"seed000-convergence.csv", "seed000-convergence.md",
		"seed000-convergence.tex", "convergence-quadratic.svg", "convergence-quadratic.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 ||
			info.Size() > 100_000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := All.Run(context.Background(), "seed000-convergence",
		reproduce.Options{Dir: dir, Scale: reproduce.Smoke, Sweep: sweep.Options{Workers: 1}})
	if err != nil || string(again.CSV()) != string(d.CSV()) {
		t.Errorf("one worker gives another table (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cells.csv"), []byte("cell,x,accuracy\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for key, c := range map[string]struct {
		name string
		opt  reproduce.Options
	}{
		"scale": {"seed000-table1", reproduce.Options{Dir: dir, Scale: reproduce.Short}},
		"study": {"seed000-theorem51", reproduce.Options{Dir: dir, Scale: reproduce.Smoke, Finished: true}},
		"":      {"seed000-table1", reproduce.Options{Dir: dir, Scale: reproduce.Full, Finished: true}},
	} {
		var bad *config.Error
		if _, err := All.Run(context.Background(), c.name, c.opt); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Reports on finished runs read the committed rows without running any.
func TestFinished(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Open("../../docs/results/seed000/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	engine := slices.Index(rows[0], "engine")
	for _, r := range rows[1:] { // as if this program had made them
		r[engine] = experiment.EngineVersion
	}
	report := func(name, dir string) *reproduce.Document {
		d, err := All.Run(context.Background(), name,
			reproduce.Options{Dir: dir, Scale: reproduce.Full, Finished: true})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	writeCSV(t, filepath.Join(dir, "cells.csv"), rows)
	d := report("seed000-figure1", dir)
	if len(d.Rows) == 0 || len(d.Figures) == 0 {
		t.Errorf("%d rows and %d plots", len(d.Rows), len(d.Figures))
	}

	// rows that shards have left are rows too, those of two files once
	parts := t.TempDir()
	writeCSV(t, filepath.Join(parts, "cells-0-of-2.csv"), rows[:400])
	writeCSV(t, filepath.Join(parts, "cells-1-of-2.csv"), slices.Concat(rows[:1], rows[300:]))
	if again := report("seed000-figure1", parts); string(again.CSV()) != string(d.CSV()) {
		t.Errorf("from the rows of shards:\n%s\nwant:\n%s", again.CSV(), d.CSV())
	}
}

// Where rows are there and none is of this program's engine, or of the size, nothing is
// written: a finished table stays.
func TestFinishedOfAnotherEngine(t *testing.T) {
	dir := t.TempDir()
	rows := committed(t, "seed000", "0")
	table := filepath.Join(dir, "seed000-figure1.csv")
	if err := os.WriteFile(table, []byte("finished"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := func(key string, scale reproduce.Scale, rows [][]string) {
		t.Helper()
		writeCSV(t, filepath.Join(dir, "cells.csv"), rows)
		_, err := All.Run(t.Context(), "seed000-figure1",
			reproduce.Options{Dir: dir, Scale: scale, Finished: true})
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v, want an error of %s", err, key)
		}
		if b, err := os.ReadFile(table); err != nil || string(b) != "finished" {
			t.Errorf("the table is now %q, %v", b, err)
		}
	}
	refused("engine", reproduce.Full, rows)
	rows = committed(t, "seed000", experiment.EngineVersion)
	refused("rows", reproduce.Smoke, slices.Concat(rows[:1], rows[100:]))
}

// Rows of a short size that have the places and values of the full one are not taken for
// it where data are missing that could tell.
func TestFinishedWithoutData(t *testing.T) {
	dir := t.TempDir()
	writeCSV(t, filepath.Join(dir, "cells.csv"), committed(t, "seed002-figure2", experiment.EngineVersion))
	_, err := All.Run(t.Context(), "seed002-figure2",
		reproduce.Options{Dir: dir, Scale: reproduce.Full, Finished: true})
	if !errors.Is(err, data.ErrMissing) {
		t.Errorf("rows of 60 rounds at full size: %v", err)
	}
}

// committed are the rows of a folder of docs/results, as if an engine had made them.
func committed(t *testing.T, folder, engine string) [][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../docs/results", folder, "cells.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], "engine")
	for _, r := range rows[1:] {
		r[at] = engine
	}
	return rows
}

func writeCSV(t *testing.T, path string, rows [][]string) {
	t.Helper()
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every run of every study, small and full, is a run file that decodes, and no two are
// the same.
func TestStudiesDecode(t *testing.T) {
	for _, name := range All.Names() {
		s := All.Studies()[name]
		for _, scale := range s.Sizes() {
			if s.Cells == nil {
				continue
			}
			cells := s.Cells(scale)
			study, err := sweep.New(name, []byte(s.Base), s.Axes, cells)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen := map[string]bool{}
			for i, c := range cells {
				if i%4 == 0 || i == len(cells)-1 || long.Tests {
					if _, err := study.Cell(i); err != nil {
						t.Fatalf("%s, run %d: %v", name, i, err)
					}
				}
				settings := strings.Join(c.Set, " ")
				if seen[settings] {
					t.Errorf("%s, run %d occurs twice: %s", name, i, settings)
				}
				seen[settings] = true
			}
		}
	}
	// Four graphs, three methods, five budgets and five trials are 300 runs a mode, of
	// which replication has 20 less, of DP-DiNNO without noise; the central row has 25
	// sound ones, and 20 replicated ones with a budget. Under replace-one there are the
	// 240 and 20 with a budget.
	if got := len(All.Studies()["seed000-table1"].Cells(reproduce.Full)); got != 300+280+25+20+240+20 {
		t.Errorf("table 1 has %d runs, want 885", got)
	}
	var bad *config.Error
	if _, err := All.Run(context.Background(), "seed009-table1", reproduce.Options{}); !errors.As(err,
		&bad) ||
		bad.Key != "study" {
		t.Errorf("unknown study: %v", err)
	}
}

// Every table that is made whole ends with the columns of addRow, no two rows have the
// same settings, and another number of workers gives the same bits.
func TestRowsOfSimulations(t *testing.T) {
	for _, name := range All.Names() {
		// these take long, or need data: see TestTable5, TestTable5Published,
		// TestRowsOfRepresentation, TestRowsOfTheorem51, TestDrawnNorms, TestDescentStudy
		if s := All.Studies()[name]; s.Cells != nil || strings.HasPrefix(name, "seed000-table5") ||
			slices.Contains([]string{"seed000-representation", "seed000-theorem51", "seed002-norms",
				"seed004-figc"}, name) {
			continue
		}
		var tables [2]*reproduce.Document
		for k := range tables {
			d, err := All.Run(context.Background(), name,
				reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
					Sweep: sweep.Options{Workers: 1 + k, DataDir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			tables[k] = d
		}
		reproducetest.CheckRows(t, name, tables)
	}
}

// A study is found by either name, and has the older one in what it writes.
func TestNames(t *testing.T) {
	for cited, name := range map[string]string{"dpdl2023-table5": "seed000-table5",
		"bellet2018-figure2c": "seed001-figure2c", "adad2p-search": "seed002-search",
		"dkm-theorems": "seed003-theorems", "muffliato2022-walk": "seed004-walk"} {
		for _, n := range []string{cited, name} {
			found, s, err := All.Find(n)
			if err != nil || found != name || s.Title == "" {
				t.Errorf("%s: found %q, %v", n, found, err)
			}
		}
		if got := All.Citation(name); got != cited {
			t.Errorf("%s is cited as %s, want %s", name, got, cited)
		}
	}
	if _, _, err := All.Find("dpdl2023"); err == nil {
		t.Error("a paper is no study")
	}
}
