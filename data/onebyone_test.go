package data_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sotto/data"
)

// One record more, wherever it stands in the file, moves no other record between training
// and test; without OneByOne it does.
func TestOneRecordMovesNoOther(t *testing.T) {
	load := func(one bool, extra int) (train map[float32]bool) {
		text := "x,class\n"
		for i := range 201 {
			if i != 200 || extra < 0 {
				text += fmt.Sprintf("%d,%d\n", i, i%2)
			}
			if i == extra {
				text += "1000,1\n"
			}
		}
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		own, err := data.LoadOwn("csv", data.OwnFile{Path: path}, data.Source{Seed: 3, OneByOne: one},
			func(p any) error {
				c, ok := p.(*data.CSVParams)
				if ok {
					c.Path, c.Label, c.Classes = "own.csv", "class", []string{"0", "1"}
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		train = map[float32]bool{}
		for r := range own.Split.Train.Len() {
			train[own.Split.Train.X.Row(r)[0]] = true
		}
		return train
	}
	moved := func(one bool, extra int) (n int) {
		with, without := load(one, extra), load(one, 1000)
		for i := range 200 {
			x := float32(i)
			if with[x] != without[x] {
				n++
			}
		}
		return n
	}
	for _, extra := range []int{0, 57, 199} {
		if n := moved(true, extra); n != 0 {
			t.Errorf("a record at %d moves %d others", extra, n)
		}
	}
	if moved(false, 57) == 0 {
		t.Error("without OneByOne nothing moves: this test shows nothing")
	}
	if n := len(load(true, 1000)); n < 120 || n > 180 { // of 200 with probability .75: 6 standard deviations
		t.Errorf("%d of 200 records train", n)
	}
}

// Whether a part is empty is private: nothing is refused for it, and the other part has
// all.
func TestPartsMayBeEmpty(t *testing.T) {
	for _, fraction := range []float64{1e-9, 1 - 1e-9} {
		for n, rows := range []string{"1,a\n", "1,a\n2,a\n", "1,a\n2,b\n3,a\n"} {
			path := filepath.Join(t.TempDir(), "own.csv")
			if err := os.WriteFile(path, []byte("x,class\n"+rows), 0o600); err != nil {
				t.Fatal(err)
			}
			own, err := data.LoadOwn("csv", data.OwnFile{Path: path}, data.Source{Seed: 3, OneByOne: true},
				func(p any) error {
					c := p.(*data.CSVParams)
					c.Path, c.Label, c.Classes, c.TestFraction = path, "class", []string{"a", "b"}, fraction
					return nil
				})
			if err != nil {
				t.Errorf("%d records: %v", n+1, err)
				continue
			}
			full, empty := own.Split.Train.Len(), own.Split.Test.Len()
			if fraction > .5 {
				full, empty = empty, full
			}
			if full != n+1 || empty != 0 {
				t.Errorf("%d records: %d and %d", n+1, full, empty)
			}
		}
	}
}
