package csv_test

import (
	"errors"
	"slices"
	"testing"

	"sotto/config"
	"sotto/data/csv"
)

// Head has all columns, also where one that is to be dropped is not there.
func TestHead(t *testing.T) {
	o := csv.Options{Header: true, Delimiter: ';', Drop: []string{"c", "b"}}
	head, err := o.Head("f", []byte("\ufeffa;b\n1;x\n"))
	if err != nil || len(head.Columns) != 2 || head.Columns[0].Name != "a" ||
		head.Columns[1].Name != "b" || len(head.Lines) != 0 {
		t.Errorf("%+v, %v", head, err)
	}
	for _, text := range []string{"", "a;a\n1;2\n", "a;\"b\n"} {
		_, err := o.Head("f", []byte(text))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "f" || bad.Line != 1 {
			t.Errorf("%q: %v, want f:1", text, err)
		}
	}
}

// Cells can be read again and again: trimmed cells, "" where a value is missing, also of
// columns that are dropped.
func TestCells(t *testing.T) {
	o := csv.Options{Header: true, Missing: []string{"?"}, Drop: []string{"b"}}
	columns, used, rows, err := o.Cells("f", []byte("a,b\n1, x \n\n?,?\n"))
	if err != nil || !slices.Equal(columns, []string{"a", "b"}) ||
		!slices.Equal(used, []bool{true, false}) {
		t.Fatalf("%v, %v, %v", columns, used, err)
	}
	for range 2 {
		var got []string
		for cells := range rows {
			got = append(got, cells...)
		}
		if want := []string{"1", "x", "", ""}; !slices.Equal(got, want) {
			t.Errorf("cells %q, want %q", got, want)
		}
	}
	for cells := range rows {
		if cells[0] != "1" {
			t.Errorf("the first record is %q", cells)
		}
		break
	}
	if _, _, _, err := o.Cells("f", []byte("a,c\n1,2\n")); err == nil {
		t.Error("a column to drop is not there, and no error")
	}
}
