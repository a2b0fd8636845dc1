package memory_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
	"sotto/data/memory"
)

func table() *memory.Table {
	return &memory.Table{Columns: []string{"a", "b"}, X: [][]float64{{0, .5}, {1, .25}, {.5, 0}},
		Classes: []string{"no", "yes"}, Labels: []int{0, 1, 1},
		Owners: []string{"x", "y"}, Owner: []int{0, 1, 1}}
}

func TestSplit(t *testing.T) {
	s, err := memory.Split(table(), table())
	if err != nil {
		t.Fatal(err)
	}
	d := s.Train
	if d.Len() != 3 || d.X.Row(1)[1] != .25 || d.Labels[2] != 1 || d.Groups[2] != 1 ||
		d.GroupNames[1] != "y" ||
		d.Classes != 2 || d.Variables[1].Name != "b" ||
		!slices.Equal(d.Columns, []string{"a", "b"}) || d.Digest == s.Test.Digest {
		t.Errorf("%+v", d)
	}
	other := table()
	other.X[2][0] = .75
	again, err := memory.Split(table(), other)
	if err != nil || again.Train.Digest != d.Digest || again.Test.Digest == s.Test.Digest {
		t.Errorf("digests %v", err)
	}
	numbers := &memory.Table{X: [][]float64{{1}}, Targets: []float64{2.5}}
	s, err = memory.Split(numbers, numbers)
	if err != nil || s.Train.Targets[0] != 2.5 || s.Train.Classes != 0 {
		t.Errorf("%v", err)
	}
}

// With a bound no record is longer than it, and shorter ones stay; the bound is part of
// the digest.
func TestNorm(t *testing.T) {
	long := table()
	long.X[1], long.Norm = []float64{3, 4}, 1
	s, err := memory.Split(long, long)
	if err != nil || memory.Check(s) != nil {
		t.Fatal(err)
	}
	d := s.Train
	if n := math.Hypot(float64(d.X.Row(1)[0]),
		float64(d.X.Row(1)[1])); n > 1 || n < 1-1e-5 || d.RowNorm != 1 {
		t.Errorf("a record of norm %v, bound %v", n, d.RowNorm)
	}
	if d.X.Row(0)[1] != .5 {
		t.Errorf("a short record became %v", d.X.Row(0))
	}
	long.Norm = 2
	if again, err := memory.Split(long, long); err != nil || again.Train.Digest == d.Digest {
		t.Errorf("another bound has the digest of this one (%v)", err)
	}
}

func TestRefusals(t *testing.T) {
	for key, edit := range map[string]func(*memory.Table){
		"test.Norm":       func(t *memory.Table) { t.Norm = math.Inf(1) },
		"test.X":          func(t *memory.Table) { t.X = nil },
		"test.X[1]":       func(t *memory.Table) { t.X[1] = t.X[1][:1] },
		"test.X[2]":       func(t *memory.Table) { t.X[2][0] = math.NaN() },
		"test.X[0]":       func(t *memory.Table) { t.X[0][0] = 1e40 },
		"test.Labels[0]":  func(t *memory.Table) { t.Labels[0] = 2 },
		"test.Labels":     func(t *memory.Table) { t.Labels = t.Labels[:2] },
		"test.Owner[1]":   func(t *memory.Table) { t.Owner[1] = -1 },
		"test.Owner":      func(t *memory.Table) { t.Owner = nil },
		"test.Owners":     func(t *memory.Table) { t.Owners = nil },
		"test.Classes":    func(t *memory.Table) { t.Classes = t.Classes[:1] },
		"test.Columns":    func(t *memory.Table) { t.Columns = t.Columns[:1] },
		"test.Targets":    func(t *memory.Table) { t.Classes, t.Labels = nil, nil },
		"test.Columns[1]": func(t *memory.Table) { t.Columns[1] = "a" },
		"test.Owners[0]":  func(t *memory.Table) { t.Owners[0] = "" },
		"test.Targets[1]": func(t *memory.Table) {
			t.Classes, t.Labels, t.Targets = nil, nil, []float64{0, math.Inf(1), 0}
		},
	} {
		test := table()
		edit(test)
		_, err := memory.Split(table(), test)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key || strings.Contains(err.Error(), "1e+40") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Tests that are not of the same columns, classes and owners as training would be scored
// against other names.
func TestPartsThatDiffer(t *testing.T) {
	for key, edit := range map[string]func(*memory.Table){
		"test.Columns": func(t *memory.Table) { slices.Reverse(t.Columns) },
		"test.Classes": func(t *memory.Table) { slices.Reverse(t.Classes) },
		"test.Owners":  func(t *memory.Table) { slices.Reverse(t.Owners) },
		"test.X": func(t *memory.Table) {
			t.Columns = nil
			for i := range t.X {
				t.X[i] = t.X[i][:1]
			}
		},
	} {
		test := table()
		edit(test)
		_, err := memory.Split(table(), test)
		if bad := (*config.Error)(nil); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	test := table()
	test.Owners, test.Owner = nil, nil
	if _, err := memory.Split(table(), test); err != nil {
		t.Errorf("test records of nobody in particular: %v", err)
	}
	for _, part := range [][2]*memory.Table{{nil, table()}, {table(), nil}} {
		if _, err := memory.Split(part[0], part[1]); err == nil {
			t.Error("a table that is not there")
		}
	}
}

// The digest covers values, labels, owners and names, and nothing that a program does to
// its tables afterwards reaches the data set.
func TestCheck(t *testing.T) {
	from := table()
	s, err := memory.Split(from, table())
	if err != nil || memory.Check(s) != nil {
		t.Fatalf("%v, %v", err, memory.Check(s))
	}
	from.X[0][0], from.Labels[0], from.Classes[0], from.Owners[0], from.Columns[0] = 9, 1, "p", "q", "r"
	if err := memory.Check(s); err != nil || s.Train.Variables[0].Name != "a" {
		t.Errorf("tables are not copied: %v", err)
	}
	for name, edit := range map[string]func(*data.Split){
		"value":  func(s *data.Split) { s.Train.X.Row(1)[0] = .75 },
		"label":  func(s *data.Split) { s.Test.Labels[0] = 1 },
		"owner":  func(s *data.Split) { s.Train.Groups[0] = 1 },
		"class":  func(s *data.Split) { s.Train.ClassNames[0] = "other" },
		"column": func(s *data.Split) { s.Train.Variables[0].Name = "other" },
		"digest": func(s *data.Split) { s.Test.Digest = "" },
		"parts":  func(s *data.Split) { s.Train, s.Test = s.Test, s.Train },
		"bound":  func(s *data.Split) { s.Train.RowNorm = 1e-9 },
		"none":   func(s *data.Split) { s.Test = nil },
	} {
		s, err := memory.Split(table(), table())
		if err != nil {
			t.Fatal(err)
		}
		edit(s)
		if bad := (*config.Error)(nil); !errors.As(memory.Check(s), &bad) {
			t.Errorf("%s: accepted", name)
		}
	}
	if memory.Check(nil) == nil {
		t.Error("no data set: accepted")
	}
}
