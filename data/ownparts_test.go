package data_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
)

// ownRows is an owner's file of a data set, of which feature at tells records apart.
type ownRows struct {
	name, head string
	row        func(i int) string
	at         int
	decode     func(any) error
	// others of the first row: another value, a missing cell, another group
	changed []string
}

func ownFiles(t *testing.T) []ownRows {
	csv := func(limit int) func(p any) error {
		return func(p any) error {
			if c, ok := p.(*data.CSVParams); ok {
				c.Path, c.Label, c.Classes = "own.csv", "class", []string{"0", "1"}
				c.Missing = []string{"NA"}
				c.Group, c.Groups, c.Limit = "town", []string{"a", "b"}, limit
			}
			return nil
		}
	}
	towns := ownRows{"csv", "x,town,class\n",
		func(i int) string { return fmt.Sprintf("%d,%c,%d", i, 'a'+i%2, i/2%2) }, 0, csv(0),
		[]string{"1000,a,1", "NA,a,0", "0,b,0"}}
	few := towns
	few.decode = csv(20)
	return []ownRows{towns, few,
		{"table", "id,age,sex,ill\n", func(i int) string { return fmt.Sprintf("%d,%d.5,F,no", i, i) }, 0,
			data.WithSchema(tableParams(func(p *data.SchemaParams) { p.TestFraction = .25 }), agreed(t)),
			[]string{"0,99,M,yes", "0,1,F,"}},
		{"heart-disease", "",
			func(i int) string { return fmt.Sprintf("63,1,1,145,%d,1,2,150,0,2.3,3,0,6,0", 200+i) }, 4,
			defaults,
			[]string{"50,0,1,145,500,1,2,150,0,2.3,3,0,6,1", "63,1,1,145,200,1,2,150,0,2.3,3,?,6,0"}},
	}
}

// Whatever one row of an owner's file is changed to, also to one that is left out or to
// one of another group, no other record moves between training and test. Under
// replace-one such a row moved a sum over 3,003 records by 227 clips, and was charged 2.
func TestARowMovesNoOther(t *testing.T) {
	const rows = 48
	for _, f := range ownFiles(t) {
		train := func(first string, where int) []float32 {
			lines := []string{}
			for i := range rows {
				if i == where {
					lines = append(lines, first)
				}
				if i > 0 {
					lines = append(lines, f.row(i))
				}
			}
			path := keep(t, t.TempDir(), "own.csv", f.head+strings.Join(lines, "\n")+"\n")
			own, err := data.LoadOwn(f.name, data.OwnFile{Path: path}, data.Source{Seed: 3}, f.decode)
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(path), err)
			}
			var ids []float32
			for r := range own.Split.Train.Len() {
				ids = append(ids, own.Split.Train.X.Row(r)[f.at])
			}
			return ids
		}
		parts := 0
		for where := range rows {
			was := train(f.row(0), where)
			if len(was) < rows {
				parts++
			}
			for _, other := range f.changed {
				now := train(other, where)
				differ := 0
				for _, id := range slices.Concat(was, now) {
					if slices.Contains(was, id) != slices.Contains(now, id) {
						differ++
					}
				}
				if differ > 2 || len(now) > len(was) {
					t.Errorf("%s: row %d as %q: %d of %d training records are others", f.name, where, other,
						differ, len(was))
				}
			}
		}
		if parts == 0 {
			t.Errorf("%s: nothing is held out: this test shows nothing", f.name)
		}
	}
}
