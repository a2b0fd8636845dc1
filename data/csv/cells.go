package csv

import (
	"bytes"
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"strings"

	"sotto/config"
)

// Head is the table of the file with bytes b without its rows: its columns, none of which
// is left out or need be there. Errors are *config.Error with line 1: no rows, a first
// line that is quoted otherwise than in RFC 4180, a name twice.
func (o Options) Head(path string, b []byte) (*Table, error) {
	first, err := o.reader(bytes.NewReader(b)).Read()
	switch {
	case err == io.EOF:
		return nil, &config.Error{File: path, Line: 1, Found: "no rows", Allowed: "at least one row"}
	case err != nil:
		return nil, fault(err, path)
	}
	t, _, _, err := (&Options{Header: o.Header}).layout(first, path, 1)
	return t, err
}

// Cells reads a file as it stands that Read has read without a fault: the names of all
// columns, which of them o does not drop, and the cells of every record, "" where one
// stands for a missing value. The slice is valid until the next one.
func (o Options) Cells(path string, b []byte) (columns []string, used []bool, rows iter.Seq[[]string],
	err error) {
	read := func() *csv.Reader { return o.reader(bytes.NewReader(b)) }
	first, err := read().Read()
	if err != nil {
		return nil, nil, nil, fault(err, path)
	}
	t, skip, _, err := o.layout(first, path, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	for k := range t.Columns {
		columns = append(columns, t.Columns[k].Name)
		used = append(used, !skip[k])
	}
	return columns, used, func(yield func([]string) bool) {
		r := read()
		if o.Header {
			r.Read()
		}
		for {
			cells, err := r.Read()
			if err != nil { // the end: Read found no fault
				return
			}
			for k, c := range cells {
				if cells[k] = strings.TrimSpace(c); slices.Contains(o.Missing, cells[k]) {
					cells[k] = ""
				}
			}
			if !yield(cells) {
				return
			}
		}
	}, nil
}
