package data_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
)

const ownersSchema = `version = 1
intercept = true
[[column]]
name = "id"
kind = "id"
[[column]]
name = "age"
kind = "number"
bounds = [0, 100]
[[column]]
name = "sex"
kind = "category"
categories = ["F", "M"]
[target]
column = "ill"
kind = "class"
values = ["no", "yes"]
missing = "drop"
`

func agreed(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.Parse("schema.toml", []byte(ownersSchema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// params decodes into the parameters of data set table.
func tableParams(set func(*data.SchemaParams)) func(any) error {
	return func(p any) error {
		set(p.(*data.SchemaParams))
		return nil
	}
}

func keep(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	north = "id,age,sex,ill\n1,50,F,no\n2,20,M,yes\n3,30,F,\n4,80,M,no\n4,90,M,yes\n"
	south = "ill;sex;age;id\nyes;M;100;1\nno;F;0;2\nno;F;25;9\nyes;F;75;8\n"
)

// Files of several owners become one data set with an owner each, whatever their columns'
// order.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	paths := []string{keep(t, dir, "north.csv", north), keep(t, dir, "south.txt", south)}
	load := func(set func(*data.SchemaParams)) (*data.Split, error) {
		return data.Load("table", "", 1, data.WithSchema(tableParams(func(p *data.SchemaParams) {
			p.Paths, p.TestFraction = paths, .5
			set(p)
		}), agreed(t)))
	}
	split, err := load(func(*data.SchemaParams) {})
	if err != nil {
		t.Fatal(err)
	}
	// two of four complete rows of each
	if d := split.Train; d.Len() != 4 || d.X.Cols != 4 || d.Shape != [3]int{1, 1, 4} || d.Classes != 2 ||
		!slices.Equal(d.GroupNames, []string{"north", "south"}) ||
		!slices.Equal(d.Groups, []int32{0, 0, 1, 1}) ||
		d.Units != nil || math.Abs(d.RowNorm-math.Sqrt(3)) > 1e-15 {
		t.Errorf("%+v", d)
	}
	for _, d := range []*data.Dataset{split.Train, split.Test} {
		for i := range d.Len() {
			if row := d.X.Row(i); row[3] != 1 || row[1]+row[2] != 1 || row.Norm() > d.RowNorm {
				t.Errorf("row %v", row)
			}
		}
	}
	persons, err := load(func(p *data.SchemaParams) { p.UnitColumn = "id" })
	if err != nil {
		t.Fatal(err)
	}
	// 1, 2, 4 of north and four of south: an id of two owners is two persons
	if n := persons.Train.UnitCount(all(persons.Train)) + persons.Test.UnitCount(all(persons.Test)); n != 7 {
		t.Errorf("%d persons, want 7", n)
	}
	if persons.Train.Digest == split.Train.Digest {
		t.Error("persons do not count in the digest")
	}
}

func all(d *data.Dataset) []int32 {
	rows := make([]int32, d.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// One file with a column of owners is as good as several files.
func TestTableByGroup(t *testing.T) {
	path := keep(t, t.TempDir(), "all.csv",
		"ward,id,age,sex,ill\nb,1,50,F,no\na,2,20,M,yes\nb,3,30,F,yes\na,4,80,M,no\n")
	load := func(groups ...string) (*data.Split, error) {
		return data.Load("table", "", 1, data.WithSchema(tableParams(func(p *data.SchemaParams) {
			p.Paths, p.TestFraction, p.Group, p.Groups = []string{path}, .5, "ward", groups
		}), agreed(t)))
	}
	split, err := load("a", "b")
	if err != nil || !slices.Equal(split.Train.GroupNames, []string{"a", "b"}) || split.Train.Len() != 2 ||
		split.Train.Groups[0] == split.Train.Groups[1] {
		t.Errorf("%+v, %v", split, err)
	}
	if _, err := load("b", "c"); err == nil || !strings.Contains(err.Error(), "all.csv:3: column ward") ||
		strings.Contains(err.Error(), "found \"a\"") {
		t.Errorf("%v", err)
	}
}

func TestTableRefusals(t *testing.T) {
	dir := t.TempDir()
	path, other := keep(t, dir, "n.csv", north), keep(t, t.TempDir(), "n.txt", south)
	for name, c := range map[string]struct {
		set  func(*data.SchemaParams)
		key  string
		none bool
	}{
		"no schema":   {func(*data.SchemaParams) {}, "schema", true},
		"no paths":    {func(p *data.SchemaParams) { p.Paths = nil }, "paths", false},
		"same name":   {func(p *data.SchemaParams) { p.Paths = []string{path, other} }, "paths", false},
		"unit column": {func(p *data.SchemaParams) { p.UnitColumn = "age" }, "unit_column", false},
		"groups":      {func(p *data.SchemaParams) { p.Group = "sex" }, "groups", false},
		"no group":    {func(p *data.SchemaParams) { p.Groups = []string{"F"} }, "group", false},
		"fraction":    {func(p *data.SchemaParams) { p.TestFraction = 1 }, "test_fraction", false},
		"delimiter":   {func(p *data.SchemaParams) { p.Delimiter = "x" }, "delimiter", false},
		"twice a group": {func(p *data.SchemaParams) { p.Group, p.Groups = "sex", []string{"F", "F"} },
			"groups", false},
	} {
		s := agreed(t)
		if c.none {
			s = nil
		}
		_, err := data.Load("table", "", 1, data.WithSchema(tableParams(func(p *data.SchemaParams) {
			p.Paths = []string{path}
			c.set(p)
		}), s))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An owner's file: its sheet names all columns, its counts are the owner's alone, and a
// Parquet file is as good.
func TestOwnTable(t *testing.T) {
	dir := t.TempDir()
	type row struct {
		ID  int64  `parquet:"id"`
		Age string `parquet:"age"`
		Sex string `parquet:"sex"`
		Ill string `parquet:"ill"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{1, "50", "F", "no"}, {2, "20", "M", "yes"}, {3, "30", "F", ""},
		{4, "80", "M", "no"}, {4, "90", "M", "yes"}}); err != nil {
		t.Fatal(err)
	}
	var records [2][][]byte
	var x [2][]float32
	for i, path := range []string{keep(t, dir, "a.csv", north), keep(t, dir, "a.parquet", b.String())} {
		own, err := data.LoadOwn("table", data.OwnFile{Path: path}, data.Source{Seed: 1},
			data.WithSchema(tableParams(func(p *data.SchemaParams) { p.TestFraction = .5 }), agreed(t)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(own.Columns, []string{"id", "age", "sex", "ill"}) || own.Counts.Rows != 5 ||
			own.Counts.Dropped != 1 || own.Counts.MostOfID != 2 {
			t.Errorf("%+v", own)
		}
		records[i], x[i] = own.Records, own.Split.Train.X.Data
	}
	if !slices.EqualFunc(records[0], records[1], bytes.Equal) || !slices.Equal(x[0], x[1]) {
		t.Errorf("%q and %q", records[0], records[1])
	}
	path := keep(t, dir, "b.csv", "id,age,sex,ill\n,50,F,no\n2,1,F,yes\n")
	_, err := data.LoadOwn("table", data.OwnFile{Path: path}, data.Source{Seed: 1},
		data.WithSchema(tableParams(func(p *data.SchemaParams) { p.UnitColumn = "id" }), agreed(t)))
	if err == nil || !strings.Contains(err.Error(), "b.csv:2: column id") {
		t.Errorf("a person without an id: %v", err)
	}
	_, err = data.LoadOwn("csv", data.OwnFile{Path: "x", Reading: schema.Reading{DecimalComma: true}},
		data.Source{Seed: 1}, nil)
	if err == nil || !strings.Contains(err.Error(), "none with data set csv") {
		t.Errorf("%v", err)
	}
}
