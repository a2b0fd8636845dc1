package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment"
)

// folded builds a run on the records 0, 1, 2 ... of a file, of which each person has two.
func folded(t *testing.T, persons bool, set ...string) (*experiment.Experiment, error) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	column, header := "", "x,c\n"
	if persons {
		column, header = `unit_column = "id",`, "x,c,id\n"
	}
	b.WriteString(header)
	for i := range 103 {
		fmt.Fprintf(&b, "%d,%c", i, "ab"[i%2])
		if persons {
			fmt.Fprintf(&b, ",p%d", i/2)
		}
		b.WriteString("\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "own.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf(`rounds = 1
topology = {agents = 2, graph = "complete"}
data = {dataset = "csv", path = %q, label = "c", label_values = ["a", "b"], %s bounds = {}}
model = {name = "logistic"}
privacy = {mechanism = "none", batch_size = 5}
`, filepath.Join(dir, "own.csv"), column)
	f, err := experiment.Parse("own.toml", []byte(file), set)
	if err != nil {
		return nil, err
	}
	return f.Build("")
}

// numbers are the records of a part, by the first column.
func numbers(e *experiment.Experiment, test bool) map[int]bool {
	d := e.Task.Split.Train
	if test {
		d = e.Task.Split.Test
	}
	all := map[int]bool{}
	for r := range d.Len() {
		all[int(d.X.Row(r)[0])] = true
	}
	return all
}

// Every record is a test record of one fold of a repeat and a training record of all
// others; 103 records make folds of 20 and 21; another repeat deals otherwise.
func TestFolds(t *testing.T) {
	times, parts := map[int]int{}, map[string]bool{}
	for k := range 10 {
		e, err := folded(t, false, "evaluate.folds=5", "evaluate.repeats=2",
			fmt.Sprintf("evaluate.fold=%d", k))
		if err != nil {
			t.Fatal(err)
		}
		test, train := numbers(e, true), numbers(e, false)
		if n := len(test); n != 20 && n != 21 {
			t.Errorf("fold %d has %d of 103 records", k, n)
		}
		if len(test)+len(train) != 103 {
			t.Errorf("fold %d: %d training and %d test records of 103", k, len(train), len(test))
		}
		for i := range test {
			times[i]++
			if train[i] {
				t.Errorf("fold %d: record %d is in both parts", k, i)
			}
		}
		parts[fmt.Sprint(test)] = true
	}
	for i := range 103 {
		if times[i] != 2 {
			t.Errorf("record %d is tested %d times in 2 repeats", i, times[i])
		}
	}
	if len(parts) != 10 {
		t.Errorf("%d different folds of 10", len(parts))
	}
}

// The records of a person are in one fold.
func TestFoldsOfPersons(t *testing.T) {
	tested := 0
	for k := range 4 {
		e, err := folded(t, true, "evaluate.folds=4", fmt.Sprintf("evaluate.fold=%d", k))
		if err != nil {
			t.Fatal(err)
		}
		test := numbers(e, true)
		tested += len(test)
		for i := range test {
			if mate := i ^ 1; mate < 103 && !test[mate] {
				t.Errorf("fold %d has record %d and not record %d of the same person", k, i, mate)
			}
		}
	}
	if tested != 103 {
		t.Errorf("%d of 103 records are tested", tested)
	}
}

func TestFoldsRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"folds=1", "evaluate.folds: found 1, allowed: 2 to 1000"},
		{"fold=1", "evaluate.fold: found 1, allowed: nothing without folds"},
		{"repeats=2", "evaluate.repeats: found 2, allowed: nothing without folds"},
		{"folds=5", "folds with fold = 0 to 4, which is one run; sotto sweep own.toml runs all"},
		{"folds=5 fold=5", "evaluate.fold: found 5, allowed: 0 to 4"},
		{"folds=5 fold=-1", "evaluate.fold: found -1, allowed: 0 to 4"},
		{"folds=5 repeats=-1", "evaluate.repeats: found -1, allowed: 1 to 1000"},
		{"folds=5 fold=1 repeats=0", "evaluate.repeats: found 0, allowed: 1 or more"},
	} {
		var set []string
		for _, s := range strings.Fields(c[0]) {
			set = append(set, "evaluate."+s)
		}
		if _, err := folded(t, false, set...); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", c[0], err, c[1])
		}
	}
	_, err := folded(t, false, "evaluate.folds=5", "evaluate.fold=0",
		`data={dataset="linear-tasks",agents=2}`)
	if err == nil || !strings.Contains(err.Error(), "0 with data set linear-tasks") {
		t.Error(err)
	}
	e, err := folded(t, false, "evaluate.folds=200", "evaluate.fold=199")
	if err == nil && e.Task.Split.Test.Len() > 1 || err != nil &&
		!strings.Contains(err.Error(), "fewer: fold 199 has 0 of the 103 records") {
		t.Errorf("200 folds of 103 records: %v", err)
	}
	f, err := experiment.Parse("own.toml", []byte(`evaluate = {folds = 2, fold = 0}
privacy = {target_epsilon = 1, batch_size = 9, max_grad_norm = 1}
data = {partition = "natural"}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CheckDeployable(); err == nil || !strings.Contains(err.Error(), "each fold is a run") {
		t.Errorf("a daemon runs folds: %v", err)
	}
}
