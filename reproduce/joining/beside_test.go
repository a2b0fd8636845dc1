//go:build beside

package joining

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"sotto/data"
	"sotto/experiment"
)

// TestBeside sets scikit-learn beside the groups that classify, on the same records of
// the same splits (python3 with scikit-learn, as distributions package it): logistic
// regression of each owner alone, with its prior by cross-validation; of all records at
// once, without privacy; and of all records at once with objective perturbation
// (Chaudhuri, Monteleoni, Sarwate 2011), as diffprivlib has it, at epsilon 1 and 3.
//
//	SOTTO_DATA=... go test ./reproduce/joining -tags beside -run Beside -v -timeout 60m
func TestBeside(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs heart-disease, adult-a9a, breast-cancer")
	}
	for _, r := range paysRuns(false) {
		if r.noise != plain || r.group.figures[0] != classes[0] || r.records > 106 {
			continue
		}
		folder := t.TempDir()
		for _, r.seed = range seeds(false) {
			f, err := experiment.Parse("beside", []byte(base), r.cell().Set)
			if err != nil {
				t.Fatal(err)
			}
			e, err := f.Build(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := export(e, filepath.Join(folder, fmt.Sprintf("%d.csv", r.seed))); err != nil {
				t.Fatal(err)
			}
		}
		bound := strconv.FormatFloat(rowNorm(t, r, dir), 'g', -1, 64)
		out, err := exec.Command("python3", "testdata/beside.py", folder, bound).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s\n%s", r.sized(), out)
	}
}

// rowNorm is the public bound of the records' norm.
func rowNorm(t *testing.T, r run, dir string) float64 {
	t.Helper()
	r.seed = seeds(false)[0]
	f, err := experiment.Parse("beside", []byte(base), r.cell().Set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e.Task.Split.Train.RowNorm
}

// export writes a row for each record: owner, 1 of tests, label, features.
func export(e *experiment.Experiment, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	put := func(owner int, test string, d *data.Dataset, r int32) {
		line := []string{strconv.Itoa(owner), test, strconv.Itoa(int(d.Labels[r]))}
		for _, v := range d.X.Row(int(r)) {
			line = append(line, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		w.Write(line)
	}
	for i, rows := range e.Task.Parts {
		for _, r := range rows {
			put(i, "0", e.Task.Split.Train, r)
		}
	}
	for _, i := range e.Task.Tested {
		b := e.Task.Tests[i]
		tests := &data.Dataset{X: b.X, Labels: b.Labels}
		for r := range b.Len() {
			put(i, "1", tests, int32(r))
		}
	}
	w.Flush()
	return w.Error()
}
