package main

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/reproduce"
	"sotto/reproduce/dpdl2023"
	"sotto/reproduce/papers"
)

// Tables of studies that are no sweeps are found by their name and have what their rows
// are compared by.
func TestReadSimulations(t *testing.T) {
	t.Chdir("../..")
	all, err := readSimulations()
	if err != nil {
		t.Fatal(err)
	}
	for _, study := range papers.All.Names() {
		path := filepath.Join("docs", "results", study, study+".csv")
		s := papers.All.Studies()[study]
		if _, err := os.Stat(path); err != nil || s.Sweep() {
			continue
		}
		if !slices.ContainsFunc(all, func(s simulated) bool { return s.name() == study+"/0" }) {
			t.Errorf("%s is not looked at", path)
		}
	}
	for _, s := range all {
		if len(s.digest) != 64 || len(s.hash) != 64 || !strings.Contains(s.engine, "/") {
			t.Errorf("%s: %+v", s.name(), s)
		}
	}
	rows, err := readRows()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.name() == "seed003-theorems/0" }) {
		t.Error("a random row is none of a simulation")
	}
}

// A row that is made again is the same; one with another last character in its hash or
// digest, of a row that is not there, or of another engine is found.
func TestSimulationAgain(t *testing.T) {
	dir := t.TempDir()
	if _, err := papers.All.Run(context.Background(), "seed003-theorems",
		reproduce.Options{Dir: dir, Scale: reproduce.Smoke}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "seed003-theorems.csv")
	made, err := readSimulation("seed003-theorems", path)
	if err != nil {
		t.Fatal(err)
	}
	s := made[1]
	if err := s.compare(made); err != nil || !s.here() {
		t.Errorf("the same row: %v, here %v", err, s.here())
	}
	other := func(x string) string { return x[:63] + map[bool]string{true: "1", false: "0"}[x[63] == '0'] }
	changed, configured, beyond, engine := s, s, s, s
	changed.hash, configured.digest, beyond.number, engine.engine = other(s.hash), other(s.digest), len(made),
		"0 amd64/fma"
	for want, err := range map[string]error{"run hash": changed.compare(made),
		"configuration digest": configured.compare(made), "rows": beyond.compare(made),
		"engine": engine.again()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if engine.here() {
		t.Error("a row of engine 0 is taken for this one's")
	}
}

// The hash of Table 5's rows is that of the first models; a table without the columns, as
// older ones are, is refused.
func TestReadSimulation(t *testing.T) {
	write := func(header, row []string) string {
		path := filepath.Join(t.TempDir(), "table.csv")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := csv.NewWriter(f).WriteAll([][]string{header, row}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const table5 = "seed000-table5"
	header := []string{"method", "bound", "engine", "seed", "config digest", "run hash",
		"hash of the first models"}
	path := write(header, []string{"DP-DSGT", ".1", "3 amd64/fma", "1331", "d", "all", "first"})
	rows, err := readSimulation(table5, path)
	if err != nil || len(rows) != 1 ||
		rows[0] != (simulated{table5, 0, "DP-DSGT", "3 amd64/fma", "d", "first"}) {
		t.Errorf("%+v, %v", rows, err)
	}
	// the first lacks the engine
	for _, path := range []string{write(slices.Delete(slices.Clone(header), 2, 3), make([]string, 6)),
		write(header[:3], make([]string, 3)),
		write([]string{"a"}, []string{"b"})} {
		var bad *config.Error
		if _, err := readSimulation("seed004-gd", path); !errors.As(err, &bad) || bad.Key != "columns" ||
			bad.File != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := dpdl2023.FirstModels(context.Background(), table5, "DP-SGX", t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), `"DP-SGX"`) {
		t.Errorf("an unknown method: %v", err)
	}
}
