package csv_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data/csv"
)

func TestRead(t *testing.T) {
	text := "\ufeffage,\"name, first\",who\r\n1.5,2e1,a\r\n\r\n-.25,?, b \r\n"
	got, err := csv.Read(strings.NewReader(text), "f.csv",
		csv.Options{Header: true, Missing: []string{"?"}, Text: []string{"who"}})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{got.Columns[0].Name, got.Columns[1].Name, got.Columns[2].Name}
	if !slices.Equal(names, []string{"age", "name, first", "who"}) || !slices.Equal(got.Lines, []int{2, 4}) {
		t.Errorf("columns %q, lines %v", names, got.Lines)
	}
	if !slices.Equal(got.Columns[0].Numbers, []float64{1.5, -.25}) ||
		!math.IsNaN(got.Columns[1].Numbers[1]) || !slices.Equal(got.Columns[2].Text, []string{"a", "b"}) {
		t.Errorf("columns %+v", got.Columns)
	}
	// A byte order mark may stand before a quoted name.
	quoted, err := csv.Read(strings.NewReader("\ufeff\"a\",\"b\"\n1,2\n"), "f.csv",
		csv.Options{Header: true})
	if err != nil || quoted.Columns[0].Name != "a" || quoted.Columns[1].Name != "b" {
		t.Errorf("a byte order mark before a quote: %+v, %v", quoted, err)
	}
	// Numbers mean the file's columns, also after others are dropped.
	got, err = csv.Read(strings.NewReader("1;x;3\n4;y;6\n"), "f.csv",
		csv.Options{Delimiter: ';', Drop: []string{"1"}, Text: []string{"2"}})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := got.Column("3"); err != nil || !slices.Equal(c.Numbers, []float64{3, 6}) {
		t.Errorf("column 3: %+v, %v", c, err)
	}
	if _, err := got.Column("1"); err == nil {
		t.Error("a dropped column is found")
	}
}

func TestReadRefuses(t *testing.T) {
	header := csv.Options{Header: true}
	for _, c := range []struct {
		text string
		o    csv.Options
		line int
		key  string
	}{
		{"", header, 1, ""},
		{"a,b\n", header, 1, ""},
		{"a,a\n1,2\n", header, 1, "header"},
		{"a,b\n1,2\n3\n", header, 3, ""},
		{"a,b\n1,2\n3,4,5\n", header, 3, ""},
		{"a,b\n1,x\n", header, 2, "column b"},
		{"a,b\n1,2\n\n\n1,\n", header, 5, "column b"},
		{"a,b\n1,NaN\n", header, 2, "column b"},
		{"a,b\ninf,1\n", header, 2, "column a"},
		{"a,b\n1,1e39\n", header, 2, "column b"},
		{"a,b\n1,0x10\n", header, 2, "column b"},
		{"a,b\n1,1_0\n", header, 2, "column b"},
		{"a,b\n1,\"2\n", header, 2, ""},
		{"1,?\n", csv.Options{}, 1, "column 2"},
		{"1,2\n", csv.Options{Drop: []string{"3"}}, 1, "drop"},
		{"a,b\n1,2\n", csv.Options{Header: true, Text: []string{"c"}}, 1, "column"},
		{"1\n", csv.Options{Delimiter: '\n'}, 0, "delimiter"},
		{"1\n", csv.Options{Delimiter: '\r'}, 0, "delimiter"},
		{"1\n", csv.Options{Delimiter: '"'}, 0, "delimiter"},
		{"1\n", csv.Options{Delimiter: -1}, 0, "delimiter"},
		{"1\n", csv.Options{Delimiter: 0xfffd}, 0, "delimiter"},
	} {
		_, err := csv.Read(strings.NewReader(c.text), "f.csv", c.o)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "f.csv" || bad.Line != c.line || bad.Key != c.key {
			t.Errorf("%q: error %v, want f.csv:%d %s", c.text, err, c.line, c.key)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n3,?\n"), true)
	f.Add([]byte("1,\"x\"\"y\"\n"), false)
	f.Fuzz(func(t *testing.T, b []byte, header bool) {
		table, err := csv.Read(bytes.NewReader(b), "f",
			csv.Options{Header: header, Missing: []string{"?"}, Text: []string{"2"}})
		if err != nil {
			return
		}
		for _, c := range table.Columns {
			if len(c.Numbers)+len(c.Text) != len(table.Lines) {
				t.Fatalf("column %q has %d cells of %d", c.Name, len(c.Numbers)+len(c.Text), len(table.Lines))
			}
			for _, v := range c.Numbers {
				if math.IsInf(v, 0) {
					t.Fatal("infinite cell")
				}
			}
		}
	})
}
