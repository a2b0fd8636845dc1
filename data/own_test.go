package data_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
)

func defaults(any) error { return nil }

// A hospital's own file gives the records that the four together hold of it: counted by
// hand in the published description.
func TestOwnHospital(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs heart-disease")
	}
	for name, want := range map[string]struct {
		rows, whole int
	}{"cleveland": {303, 303}, "hungarian": {294, 261}, "switzerland": {123, 46}, "va": {200, 130}} {
		own, err := data.LoadOwn("heart-disease",
			data.OwnFile{Path: filepath.Join(dir, "heart-disease", "processed."+name+".data")},
			data.Source{Seed: 1}, defaults)
		if err != nil {
			t.Fatal(err)
		}
		if got := own.Split.Train.Len() + own.Split.Test.Len(); len(own.Records) != want.rows ||
			got != want.whole {
			t.Errorf("%s: %d lines and %d complete records, want %d and %d", name, len(own.Records), got,
				want.rows, want.whole)
		}
		if own.Split.Train.X.Cols != 13 || own.Split.Train.Classes != 2 {
			t.Errorf("%s: %d features", name, own.Split.Train.X.Cols)
		}
	}
}

// Columns that a run drops are in the sheet, and not used; cells that stand for missing
// values are empty.
func TestOwnSheet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.csv")
	os.WriteFile(path, []byte("id;x;c\np7; NA;a\np8;3.0;b\np9;4;a\np1;5;b\np2;6;a\n"), 0o600)
	own, err := data.LoadOwn("csv", data.OwnFile{Path: path}, data.Source{Seed: 1}, func(p any) error {
		c := p.(*data.CSVParams)
		c.Path, c.Label, c.Classes, c.Delimiter = "joint.csv", "c", []string{"a", "b"}, ";"
		c.Drop, c.Missing = []string{"id"}, []string{"NA"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be read again
		n := 0
		for row := range own.Rows {
			if n++; n == 1 && strings.Join(row, "|") != "p7||a" {
				t.Errorf("first row %q", row)
			}
		}
		if n != 5 || len(own.Records) != 5 {
			t.Errorf("%d rows and %d records, want 5", n, len(own.Records))
		}
	}
	if !slices.Equal(own.Used, []bool{false, true, true}) {
		t.Errorf("used %v of %q", own.Used, own.Columns)
	}
}

func TestOwnCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.csv")
	os.WriteFile(path, []byte("x,y,c\r\n1,2,a\r\n3,4,b\r\n5,6,a\r\n7,8,b\r\n"), 0o600)
	params := func(p any) error {
		c := p.(*data.CSVParams)
		c.Path, c.Label, c.Classes = "joint.csv", "c", []string{"a", "b"}
		return nil
	}
	own, err := data.LoadOwn("csv", data.OwnFile{Path: path}, data.Source{Seed: 1}, params)
	if err != nil {
		t.Fatal(err)
	}
	if len(own.Records) != 4 || string(own.Records[1]) != "3,4,b" || own.Split.Train.Len() != 3 ||
		own.Split.Test.Len() != 1 {
		t.Errorf("%q, %d and %d records", own.Records, own.Split.Train.Len(), own.Split.Test.Len())
	}
	var cells []string
	for row := range own.Rows {
		cells = append(cells, strings.Join(row, "|"))
	}
	if strings.Join(own.Columns, "|") != "x|y|c" || strings.Join(cells, " ") != "1|2|a 3|4|b 5|6|a 7|8|b" {
		t.Errorf("columns %q, cells %q", own.Columns, cells)
	}
	var bad *config.Error
	_, err = data.LoadOwn("mnist", data.OwnFile{Path: path}, data.Source{Seed: 1}, params)
	if !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), "csv, heart-disease") {
		t.Errorf("a data set that nobody owns a part of: %v", err)
	}
	nowhere := data.OwnFile{Path: "nowhere.csv"}
	_, err = data.LoadOwn("csv", nowhere, data.Source{Seed: 1}, params)
	if !errors.Is(err, data.ErrMissing) {
		t.Errorf("no file: %v", err)
	}
}

// No error about an owner's file says what stands in it, nor in a first line that should
// have been names and is a record. The caller replaces Found of a cell.
func TestOwnErrorsSayNoCell(t *testing.T) {
	secret := "-1.178,63,c0\n.5,1,c1\n.25,2,c0\n"
	labelled := func(label string) func(p *data.CSVParams) {
		return func(p *data.CSVParams) { p.Label = label }
	}
	for name, c := range map[string]struct {
		text, key, found string
		line             int
		set              func(p *data.CSVParams)
	}{
		"label": {secret, "column", `"y"`, 1, labelled("y")},
		"drop": {secret, "drop", `"f0"`, 1, func(p *data.CSVParams) {
			p.Label, p.Drop = "3", []string{"f0"}
		}},
		"bounds": {secret, "bounds", `"f0"`, 0, func(p *data.CSVParams) {
			p.Label, p.Bounds = "3", map[string][]float64{"f0": {0, 1}}
		}},
		"features": {secret, "header", `no column "f0"`, 1, func(p *data.CSVParams) {
			p.Columns = []string{"f0"}
		}},
		"target": {secret, "target", `"y"`, 0, func(p *data.CSVParams) {
			p.Label, p.Classes, p.Target = "", nil, "y"
			p.Drop = []string{"3"}
		}},
		"twice": {"63,63,c0\n1,2,c1\n", "header", "a name again in column 2", 1, labelled("3")},
		"cell":  {strings.Replace(secret, "2,", "x,", 1), "column 2", `"x"`, 3, labelled("3")},
	} {
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := data.LoadOwn("csv", data.OwnFile{Path: path}, data.Source{Seed: 1}, func(p any) error {
			of := p.(*data.CSVParams)
			of.Path, of.Label, of.Classes = path, "y", []string{"c0", "c1"}
			c.set(of)
			return nil
		})
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key || bad.Found != c.found || bad.Line != c.line {
			t.Errorf("%s: %v, want %s: found %s", name, err, c.key, c.found)
			continue
		}
		said := bad.Key + " " + bad.Allowed
		for _, cell := range []string{"1.178", "63", "c0", ".5"} {
			if strings.Contains(said, cell) {
				t.Errorf("%s: %q says %q", name, said, cell)
			}
		}
	}
}
