package memory_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/config"
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
		d.Classes != 2 || d.Variables[1].Name != "b" || d.Digest == s.Test.Digest {
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

func TestRefusals(t *testing.T) {
	for key, edit := range map[string]func(*memory.Table){
		"test.X":         func(t *memory.Table) { t.X = nil },
		"test.X[1]":      func(t *memory.Table) { t.X[1] = t.X[1][:1] },
		"test.X[2]":      func(t *memory.Table) { t.X[2][0] = math.NaN() },
		"test.X[0]":      func(t *memory.Table) { t.X[0][0] = 1e40 },
		"test.Labels[0]": func(t *memory.Table) { t.Labels[0] = 2 },
		"test.Labels":    func(t *memory.Table) { t.Labels = t.Labels[:2] },
		"test.Owner[1]":  func(t *memory.Table) { t.Owner[1] = -1 },
		"test.Owner":     func(t *memory.Table) { t.Owner = nil },
		"test.Owners":    func(t *memory.Table) { t.Owners = nil },
		"test.Classes":   func(t *memory.Table) { t.Classes = t.Classes[:1] },
		"test.Columns":   func(t *memory.Table) { t.Columns = t.Columns[:1] },
		"test.Targets":   func(t *memory.Table) { t.Classes, t.Labels = nil, nil },
		"test":           func(t *memory.Table) { t.Classes = append(t.Classes, "more") },
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
