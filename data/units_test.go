package data_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/config"
	"sotto/data"
	"sotto/tensor"
)

// persons loads lines of "id,x,class" with persons.
func persons(dir, lines string, edit func(*data.CSVParams)) (*data.Split, error) {
	path := filepath.Join(dir, "own.csv")
	if err := os.WriteFile(path, []byte("id,x,c\n"+lines), 0o600); err != nil {
		return nil, err
	}
	return data.Load("csv", "", 7, func(p any) error {
		c, ok := p.(*data.CSVParams)
		if !ok {
			return nil
		}
		c.Path, c.Label, c.Classes, c.UnitColumn = path, "c", []string{"a", "b"}, "id"
		c.TestFraction = .5
		if edit != nil {
			edit(c)
		}
		return nil
	})
}

// Persons are numbered by their first record; an id counts without the space around it.
func TestUnitsOfCSV(t *testing.T) {
	dir := t.TempDir()
	test := filepath.Join(dir, "test.csv")
	os.WriteFile(test, []byte("id,x,c\nq,1,a\n"), 0o600)
	s, err := persons(dir, "p7,1,a\n p9 ,2,b\np7 ,3,b\np9,4,a\np1,5,a\n",
		func(c *data.CSVParams) { c.TestPath = test })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Train.Units, []int32{0, 1, 0, 1, 2}) || s.Train.X.Cols != 1 {
		t.Errorf("units %v, %d features", s.Train.Units, s.Train.X.Cols)
	}
	if n := s.Train.UnitCount([]int32{0, 2, 4}); n != 2 {
		t.Errorf("%d persons, want 2", n)
	}
	part := s.Train.Select([]int32{4, 1})
	if !slices.Equal(part.Units, []int32{2, 1}) {
		t.Errorf("selected units %v", part.Units)
	}
	if part.UnitCoin(3, "a", 0) != s.Train.UnitCoin(3, "a", 4) {
		t.Error("a coin moved with its record")
	}
}

func TestUnitsRefused(t *testing.T) {
	lines := "p1,1,a\np2,2,b\np3,2,b\np4,2,b\np5,2,b\np6,2,b\n"
	for name, c := range map[string]struct {
		lines, want string
		edit        func(*data.CSVParams)
	}{
		"empty id": {"p1,1,a\n ,2,b\n", "own.csv:3: column id: found an empty cell", nil},
		"no column": {lines, "column",
			func(c *data.CSVParams) { c.UnitColumn = "who" }},
		"dropped": {lines, "drop",
			func(c *data.CSVParams) { c.Drop = []string{"id"} }},
		"label": {lines, "unit_column",
			func(c *data.CSVParams) { c.UnitColumn = "c" }},
		"limit": {lines, "limit",
			func(c *data.CSVParams) { c.Limit = 2 }},
	} {
		_, err := persons(t.TempDir(), c.lines, c.edit)
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// All records of a person are on one side, and no person's side depends on others.
func TestHoldOutByPerson(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.IntRange(0, 30), 40, 80).Draw(t, "ids")
		gone := rapid.SampledFrom(ids).Draw(t, "gone")
		sides := func(without int) (map[int]bool, *data.Split) {
			var b strings.Builder
			for _, id := range ids {
				if id != without {
					fmt.Fprintf(&b, "p%d,%d,%s\n", id, id, string("ab"[id%2]))
				}
			}
			s, err := persons(dir, b.String(), nil)
			if err != nil {
				t.Skip(err)
			}
			side := map[int]bool{}
			for _, d := range []*data.Dataset{s.Train, s.Test} {
				for r := range d.Len() {
					id, test := int(d.X.Row(r)[0]), d == s.Test
					if was, ok := side[id]; ok && was != test {
						t.Fatalf("person %d is on both sides", id)
					}
					side[id] = test
				}
			}
			return side, s
		}
		whole, split := sides(-1)
		less, _ := sides(gone)
		for id, side := range less {
			if whole[id] != side {
				t.Fatalf("person %d moved when %d was removed", id, gone)
			}
		}
		agents := rapid.IntRange(1, 3).Draw(t, "agents")
		keep := func(p any) error {
			p.(*data.EvenParams).AllowEmpty = true
			return nil
		}
		parts, err := data.Partition("iid", split.Train, agents, 3, keep)
		if err != nil {
			t.Fatal(err)
		}
		home, rows, most, least := map[int32]int{}, 0, 0, 1<<30
		for i, part := range parts {
			for _, r := range part {
				if at, ok := home[split.Train.Units[r]]; ok && at != i {
					t.Fatalf("person %d is at agents %d and %d", split.Train.Units[r], at, i)
				}
				home[split.Train.Units[r]] = i
			}
			n := split.Train.UnitCount(part)
			rows, most, least = rows+len(part), max(most, n), min(least, n)
		}
		if rows != split.Train.Len() || most-least > 1 {
			t.Fatalf("%d of %d records dealt, %d to %d persons", rows, split.Train.Len(), least, most)
		}
	})
}

func TestPartitionsKeepPersons(t *testing.T) {
	lines := ""
	for i := range 90 { // 30 persons, of whom each side gets some
		lines += fmt.Sprintf("p%d,%d,%s\n", i%30, i%2, string("ab"[i%2]))
	}
	s, err := persons(t.TempDir(), lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "by-class", "dirichlet"} {
		_, err := data.Partition(name, s.Train, 2, 1, func(any) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "unit_column") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without persons the digest of a file is what it was before there were any: that of the
// text below, as it was written then.
func TestDigestWithoutPersons(t *testing.T) {
	lines := "1,2,a\n3,4,b\n5,6,a\n7,8,b\n"
	file := sha256.Sum256([]byte("id,x,c\n" + lines))
	s, err := persons(t.TempDir(), lines, func(c *data.CSVParams) { c.UnitColumn = "" })
	if err != nil {
		t.Fatal(err)
	}
	text := "csv\ntrain\n" + `data.CSVParams{Path:"", TestPath:"", TestFraction:0.5, Header:true, ` +
		`Delimiter:",", Missing:[]string(nil), Drop:[]string(nil), Label:"c", Target:"", ` +
		`Classes:[]string{"a", "b"}, Group:"", Groups:[]string(nil), ` +
		`Bounds:map[string][]float64(nil), Limit:0, TestLimit:0}` + "\n7\n" +
		hex.EncodeToString(file[:]) + "\n"
	want := sha256.Sum256([]byte(text))
	if s.Train.Digest != hex.EncodeToString(want[:]) {
		t.Errorf("digest %s, want that of\n%s", s.Train.Digest, text)
	}
}

// Persons that a program has numbered by hand have no ids: their numbers tell them apart.
func TestPoolOfPersonsByNumber(t *testing.T) {
	part := func(persons ...int32) *data.Dataset {
		n := len(persons)
		return &data.Dataset{X: tensor.NewMat(n, 1), Targets: make([]float32, n), Units: persons}
	}
	p := (&data.Split{Train: part(0, 1, 0), Test: part(1, 2)}).Pool()
	if want := []int32{0, 1, 0, 1, 2}; !slices.Equal(p.Units, want) {
		t.Errorf("persons %v, want %v", p.Units, want)
	}
}

// A column that names owners, or persons, is no number to predict.
func TestTargetThatIsText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("a,y\n1,2\n3,4\n5,6\n7,8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"group = 'y'\ngroups = ['2', '4', '6', '8']", "unit_column = '2'",
		"group = '2'\ngroups = ['2', '4', '6', '8']"} {
		_, err := data.Load("csv", "", 1, params("path = '"+filepath.ToSlash(path)+"'\ntarget = 'y'\n"+key))
		wantBad(t, key, err, "target")
	}
}
