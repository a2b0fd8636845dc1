// Package csv reads delimited text files by columns.
package csv

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/internal/decimal"
)

const maxCells = 1 << 28

// Options say how a delimited text file is written.
type Options struct {
	Header    bool     // the first line names the columns; otherwise their names are "1", "2", ...
	Delimiter rune     // 0 is a comma
	Missing   []string // cells that stand for a missing number; nil: every cell must be a number
	Text      []string // columns that are kept as text, by name or 1-based number
	Drop      []string // columns that are left out and not looked at
	Own       bool     // errors count columns: a first line without names is a record
}

// Table is a delimited text file by columns.
type Table struct {
	File    string
	Columns []Column
	Lines   []int // line of each row in the file
	own     bool  // see Options.Own
}

// Column holds Numbers, NaN where missing, or Text.
type Column struct {
	Name    string
	Number  int // in the file, from 1
	Numbers []float64
	Text    []string
}

// Column returns the column with the given name or, if there is none, number.
func (t *Table) Column(ref string) (*Column, error) {
	k := t.Find(ref)
	if k < 0 {
		return nil, &config.Error{File: t.File, Key: "column", Found: strconv.Quote(ref), Allowed: t.Names()}
	}
	return &t.Columns[k], nil
}

// Find is the place in Columns of the column with the given name or, if there is none,
// number; -1 without.
func (t *Table) Find(ref string) int {
	if k := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == ref }); k >= 0 {
		return k
	}
	return slices.IndexFunc(t.Columns, func(c Column) bool { return strconv.Itoa(c.Number) == ref })
}

// Names are those of columns, or in errors about an owner's file how many there are.
func (t *Table) Names() string {
	if t.own {
		return fmt.Sprintf("1 to %d, or as line 1 names them", len(t.Columns))
	}
	names := make([]string, len(t.Columns))
	for k, c := range t.Columns {
		names[k] = c.Name
	}
	return strings.Join(names, ", ")
}

// Bad is a fault in a cell of the table.
func (t *Table) Bad(row int, column, found, allowed string) error {
	return &config.Error{
		File:    t.File,
		Line:    t.Lines[row],
		Key:     "column " + column,
		Found:   found,
		Allowed: allowed,
	}
}

// Complete returns the rows without a missing number, or all rows when fill is true.
func (t *Table) Complete(fill bool) []int {
	var keep []int
	for row := range t.Lines {
		whole := !slices.ContainsFunc(t.Columns, func(c Column) bool {
			return c.Numbers != nil && math.IsNaN(c.Numbers[row])
		})
		if whole || fill {
			keep = append(keep, row)
		}
	}
	return keep
}

// Read reads a delimited text file (RFC 4180 quoting; LF or CRLF; empty lines are
// skipped). Numbers are decimal and finite within float32. name is the file name in
// errors, which are *config.Error with the line: a row with another number of cells than
// the first, a cell that is no number and not in Missing, an unknown or repeated column
// name, no rows, more than 2^28 cells.
func Read(r io.Reader, name string, o Options) (*Table, error) {
	if strings.Contains("\"\r\n\ufffd", string(o.Delimiter)) {
		return nil, &config.Error{File: name, Key: "delimiter", Found: strconv.QuoteRune(o.Delimiter),
			Allowed: "one character other than a quote or line end"}
	}
	cr := o.reader(r)
	var t *Table
	var skip, text []bool
	for {
		cells, err := cr.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fault(err, name)
		}
		line, _ := cr.FieldPos(0)
		if t == nil {
			if t, skip, text, err = o.layout(cells, name, line); err != nil {
				return nil, err
			}
			if o.Header {
				continue
			}
		}
		t.Lines = append(t.Lines, line)
		if len(t.Lines) > maxCells/len(cells) {
			return nil, &config.Error{File: name, Line: line, Found: "more rows",
				Allowed: fmt.Sprintf("at most %d cells", maxCells)}
		}
		for k, cell := range cells {
			if skip[k] {
				continue
			}
			if err := t.append(k, cell, text[k], o.Missing); err != nil {
				return nil, err
			}
		}
	}
	if t == nil || len(t.Lines) == 0 {
		return nil, &config.Error{File: name, Line: 1, Found: "no rows", Allowed: "at least one row"}
	}
	k := 0
	t.Columns = slices.DeleteFunc(t.Columns, func(Column) bool { k++; return skip[k-1] })
	return t, nil
}

// reader reads cells; a byte order mark before them is none of the first.
func (o *Options) reader(r io.Reader) *csv.Reader {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(len(mark))
	}
	cr := csv.NewReader(b)
	cr.ReuseRecord = true
	if o.Delimiter != 0 {
		cr.Comma = o.Delimiter
	}
	return cr
}

// layout makes the columns from the first line.
func (o *Options) layout(cells []string, name string, line int) (t *Table, skip, text []bool, err error) {
	t = &Table{File: name, Columns: make([]Column, len(cells)), own: o.Own}
	for k, cell := range cells {
		t.Columns[k].Name, t.Columns[k].Number = strconv.Itoa(k+1), k+1
		if o.Header {
			label := strings.TrimSpace(cell)
			t.Columns[k].Name = strings.Clone(label)
			if slices.ContainsFunc(t.Columns[:k], func(c Column) bool { return c.Name == label }) {
				return nil, nil, nil, &config.Error{File: name, Line: line, Key: "header",
					Found: fmt.Sprintf("a name again in column %d", k+1), Allowed: "each name once"}
			}
		}
	}
	mark := func(key string, refs []string) ([]bool, error) {
		marked := make([]bool, len(cells))
		for _, ref := range refs {
			k := t.Find(ref)
			if k < 0 {
				return nil, &config.Error{File: name, Line: line, Key: key, Found: strconv.Quote(ref),
					Allowed: "columns of this file: " + t.Names() + o.delimited(cells)}
			}
			marked[k] = true
		}
		return marked, nil
	}
	if skip, err = mark("drop", o.Drop); err != nil {
		return nil, nil, nil, err
	}
	text, err = mark("column", o.Text)
	return t, skip, text, err
}

// delimited names the delimiter that a first line of one cell seems to have.
func (o *Options) delimited(cells []string) string {
	if len(cells) != 1 {
		return ""
	}
	for _, c := range []string{";", "\t", "|", ","} {
		if strings.Contains(cells[0], c) {
			return fmt.Sprintf("; line 1 is one cell: is the delimiter %q?", c)
		}
	}
	return ""
}

func (t *Table) append(k int, cell string, text bool, missing []string) error {
	c := &t.Columns[k]
	cell = strings.TrimSpace(cell)
	switch {
	case text:
		c.Text = append(c.Text, strings.Clone(cell))
	case slices.Contains(missing, cell):
		c.Numbers = append(c.Numbers, math.NaN())
	default:
		v, ok := decimal.Parse(cell)
		if !ok {
			at := c.Name
			if t.own {
				at = strconv.Itoa(c.Number)
			}
			return t.Bad(len(t.Lines)-1, at, strconv.Quote(cell), "a finite decimal number")
		}
		c.Numbers = append(c.Numbers, v)
	}
	return nil
}

func fault(err error, name string) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("data: %s: %w", name, err)
	}
	return &config.Error{
		File:    name,
		Line:    p.Line,
		Found:   p.Err.Error(),
		Allowed: "rows of equally many cells, quoted as in RFC 4180",
	}
}
