package sweep

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The eight values of the textbook example have mean 5 and squares of deviations that sum
// to 32.
func TestSpread(t *testing.T) {
	s := SpreadOf([]float64{2, 4, 4, math.NaN(), 4, 5, 5, 7, 9})
	if s.Values != 8 || s.Mean != 5 || math.Abs(s.SD-math.Sqrt(32./7)) > 1e-12 {
		t.Errorf("%+v", s)
	}
	if s := SpreadOf([]float64{3}); s != (Spread{Values: 1, Mean: 3}) {
		t.Errorf("one value: %+v", s)
	}
	if s := SpreadOf(nil); s.Values != 0 || !math.IsNaN(s.Mean) {
		t.Errorf("no value: %+v", s)
	}
}

// A file with folds and no fold is run for all of them, folds fastest; a file or a list
// that names the fold is left alone.
func TestFoldAxis(t *testing.T) {
	const file = tinySweep + "[evaluate]\nfolds = 3\nrepeats = 2\n"
	s, err := Parse("tiny.toml", []byte(file), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"algorithm.step_size", "topology.graph", "seed", FoldAxis}
	if !slices.Equal(s.Axes, want) {
		t.Errorf("axes %v, want %v", s.Axes, want)
	}
	if s.Cells() != 2*2*2*6 {
		t.Errorf("%d cells, want 48", s.Cells())
	}
	for k := range 6 {
		if f, err := s.Cell(k); err != nil || *f.Evaluate.Fold != k {
			t.Errorf("cell %d: %v, %v", k, f.Evaluate.Fold, err)
		}
	}
	one, err := Parse("tiny.toml", []byte(file), []string{"data={dataset=\"csv\"}",
		"privacy.mechanism=\"gaussian\"", "privacy.target_epsilon=1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := one.Warning(); err != nil || text == "" {
		t.Errorf("other axes are chosen among: %q, %v", text, err)
	}
	one.Axes = []string{FoldAxis}
	if text, err := one.Warning(); err != nil || text != "" {
		t.Errorf("nobody chooses among folds: %q, %v", text, err)
	}
	var rows []Row
	for i, c := range s.cells {
		rows = append(rows, Row{Cell: i, Values: c.Values})
	}
	folded := ByFold(s.Axes, rows)
	if len(folded) != 8 || len(folded[3].Rows) != 6 || folded[3].Rows[5].Cell != 23 ||
		!slices.Equal(folded[3].Values, []string{"0.1", "complete", "8", ""}) {
		t.Errorf("%+v", folded)
	}
	for _, c := range []struct {
		set, axes []string
		cells     int
	}{
		{[]string{"evaluate.fold=4"}, nil, 8},
		{nil, []string{"evaluate.fold=0,5"}, 16},
		{[]string{"evaluate.folds=2"}, nil, 32},
	} {
		s, err := Parse("tiny.toml", []byte(file), c.set, c.axes)
		if err != nil || s.Cells() != c.cells {
			t.Errorf("%v: %v, want %d cells", c, err, c.cells)
		}
	}
	_, err = Parse("tiny.toml", []byte(file), []string{"evaluate.folds=1"}, nil)
	if err == nil || !strings.Contains(err.Error(), "evaluate.folds: found 1, allowed: 2 to 1000") {
		t.Error(err)
	}
}
