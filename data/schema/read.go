package schema

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
)

const maxCells = 1 << 28

// Read reads an owner's file: its bytes are b, and file names it in errors, which are
// *config.Error and hold no cell. The columns are found by name, in any order; a schema
// that is not confirmed and a missing column are refused before any record is looked at.
// The same records give the same bits however the file is written.
func (s *Schema) Read(file string, b []byte, how Reading) (*Records, error) {
	if !s.Confirmed {
		return nil, &config.Error{File: s.file, Key: "confirmed", Found: "false",
			Allowed: "true, when all owners have agreed on public values"}
	}
	return s.whole(file, b, how, task{strict: true})
}

// ReadGrouped is Read of a file that says in one more column whose each record is: their
// texts are Groups.
func (s *Schema) ReadGrouped(file string, b []byte, how Reading, column string) (*Records, error) {
	if !s.Confirmed {
		return s.Read(file, b, how)
	}
	return s.whole(file, b, how, task{strict: true, group: column})
}

// whole is scan of a file from which records are needed.
func (s *Schema) whole(file string, b []byte, how Reading, t task) (*Records, error) {
	r, err := s.scan(file, b, how, t)
	if err != nil {
		return nil, err
	}
	if r.Len() == 0 {
		return nil, &config.Error{File: file, Line: 1, Found: "no complete row",
			Allowed: "at least one row that the schema does not drop"}
	}
	return r, nil
}

// Check counts what Read would do, and goes on where Read refuses a cell. It takes a
// schema that is not confirmed.
func (s *Schema) Check(file string, b []byte, how Reading) (*Counts, error) {
	r, err := s.scan(file, b, how, task{})
	if err != nil {
		return nil, err
	}
	return &r.Counts, nil
}

// ReadNew is Read for records whose target nobody knows yet: the columns of the target
// and of the ID may be absent, and the target's cells are not looked at. Rows that the
// schema drops are in Dropped; there may be no others.
func (s *Schema) ReadNew(file string, b []byte, how Reading) (*Records, error) {
	return s.scan(file, b, how, task{strict: true, unaimed: true})
}

// task is what a scan is for.
type task struct {
	strict  bool   // it ends at the first cell that the schema refuses
	unaimed bool   // the target is not read
	group   string // one more column that is read; "": none
}

// scan reads all rows.
func (s *Schema) scan(file string, b []byte, how Reading, t task) (*Records, error) {
	in, err := how.open(file, b, s.needed(t))
	if err != nil {
		return nil, err
	}
	r := reader{schema: s, task: t, file: file, how: how, out: new(Records), ids: map[string]bool{}}
	r.out.Width = len(s.Features())
	if err := r.header(in.header, in.layout); err != nil {
		return nil, err
	}
	for {
		cells, line, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if r.out.Counts.Rows >= maxCells/max(r.out.Width, len(cells)) {
			return nil, &config.Error{File: file, Line: line, Found: "more rows",
				Allowed: fmt.Sprintf("at most %d cells", maxCells)}
		}
		if err := r.row(cells, line); err != nil && t.strict {
			return nil, err
		}
	}
	if r.out.Counts.Rows == 0 {
		return nil, &config.Error{File: file, Line: 1, Found: "no rows", Allowed: "at least one row"}
	}
	return r.out, nil
}

// needed are the columns that a file must have.
func (s *Schema) needed(t task) []string {
	var names []string
	for i := range s.Columns {
		if kind := s.Columns[i].Kind; kind != Ignore && (kind != ID || !t.unaimed) {
			names = append(names, s.Columns[i].Name)
		}
	}
	if t.unaimed {
		return names
	}
	if names = append(names, s.Target.Column); t.group != "" && !slices.Contains(names, t.group) {
		names = append(names, t.group)
	}
	return names
}

// reader reads the rows of one file.
type reader struct {
	schema  *Schema
	task    task
	file    string
	how     Reading
	columns []source // those with features, in order
	target  source
	id      int // the place of its column; -1: none
	group   int // the same
	ids     map[string]bool
	out     *Records
}

// source is a column and its place in the file.
type source struct {
	*Column
	at    int
	slots map[string]int // of a category; "other" only as Other has it
}

// header finds the columns by name.
func (r *reader) header(header []string, layout Layout) error {
	place := map[string]int{}
	for at, name := range header {
		if _, ok := place[name]; ok {
			place[name] = -1
			continue
		}
		place[name] = at
	}
	if err := r.absent(place, len(header), &layout); err != nil {
		return err
	}
	s := r.schema
	r.id, r.group = -1, -1
	if at, ok := place[r.task.group]; ok && r.task.group != "" {
		r.group = at
	}
	c := &r.out.Counts
	c.Layout, c.Extra = layout, len(header)-1
	for i := range s.Columns {
		col := &s.Columns[i]
		if _, ok := place[col.Name]; ok {
			c.Extra -= 1
		}
		switch col.Kind {
		case ID:
			if at, ok := place[col.Name]; ok && at >= 0 {
				r.id = at
			}
		case Number, Category:
			r.columns = append(r.columns, newSource(col, place[col.Name]))
			c.Columns = append(c.Columns, ColumnCounts{Name: col.Name})
		}
	}
	t := &s.Target
	if r.task.unaimed {
		if _, ok := place[t.Column]; !ok {
			c.Extra++ // the target is not among them
		}
		return nil
	}
	r.target = newSource(&Column{Name: t.Column, Categories: t.Values, Bounds: t.Bounds, Scale: t.Scale,
		Missing: t.Missing}, place[t.Column])
	c.Columns = append(c.Columns, ColumnCounts{Name: t.Column})
	if t.Kind == Class {
		c.Classes = make([]int, len(t.Values))
	}
	return nil
}

func newSource(c *Column, at int) source {
	s := source{Column: c, at: at, slots: make(map[string]int, len(c.Categories))}
	for k, v := range c.Categories {
		s.slots[v] = k
	}
	return s
}

// absent refuses a file without a column that is needed. It names columns of the schema
// alone: the first line of a file without a header is a record.
func (r *reader) absent(place map[string]int, n int, layout *Layout) error {
	var lost []string
	for _, name := range r.schema.needed(r.task) {
		at, ok := place[name]
		if ok && at < 0 {
			return &config.Error{File: r.file, Line: 1, Key: "column " + strconv.Quote(name),
				Found: "two of it", Allowed: "one"}
		}
		if !ok {
			lost = append(lost, strconv.Quote(name))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	more := ""
	if k := len(lost) - 5; k > 0 {
		lost, more = lost[:5], fmt.Sprintf(" and %d more", k)
	}
	return &config.Error{File: r.file, Line: 1, Key: "column",
		Found: fmt.Sprintf("no %s%s among %d columns, read as %s", strings.Join(lost, ", "), more, n,
			layout.Text()),
		Allowed: "a first line with the names of the schema's columns, in any order"}
}

// outcome is what a cell does to its row.
type outcome int

const (
	kept outcome = iota
	dropped
	refused
)

// row adds one row. The error is of its first cell that the schema refuses.
func (r *reader) row(cells []string, line int) error {
	o, c := r.out, &r.out.Counts
	begin := len(o.X)
	c.Rows++
	row := rowState{counts: c.Columns, line: line}
	for i := range r.columns {
		r.feature(&row, i, strings.TrimSpace(cells[r.columns[i].at]))
	}
	if r.schema.Intercept {
		o.X = append(o.X, 1)
	}
	label, target := 0, float32(0)
	if !r.task.unaimed {
		label, target = r.aim(&row, strings.TrimSpace(cells[r.target.at]))
	}
	if row.incomplete {
		c.Incomplete++
	}
	if r.id >= 0 {
		id := strings.TrimSpace(cells[r.id])
		if id == "" || id == null {
			c.EmptyIDs++
		} else if r.ids[id] {
			c.RepeatedIDs++
		}
		r.ids[strings.Clone(id)] = true
		if row.what == kept {
			o.IDs = append(o.IDs, strings.Clone(id))
		}
	}
	switch row.what {
	case refused:
		if c.Refused++; c.Refused == 1 {
			c.First = row.err
		}
	case dropped:
		c.Dropped++
		o.Dropped = append(o.Dropped, line)
	default:
		c.Kept++
		o.Lines = append(o.Lines, line)
		if r.group >= 0 {
			o.Groups = append(o.Groups, strings.Clone(strings.TrimSpace(cells[r.group])))
		}
		if r.task.unaimed {
			return nil
		}
		if r.schema.Target.Kind == Class {
			o.Labels = append(o.Labels, int32(label))
			c.Classes[label]++
		} else {
			o.Targets = append(o.Targets, target)
		}
		return nil
	}
	o.X = o.X[:begin]
	return row.err
}

// rowState is what is known of the row that is read.
type rowState struct {
	counts     []ColumnCounts
	line       int
	what       outcome
	incomplete bool
	err        error
}

// refuse notes a cell that the schema does not take, without the cell.
func (r *reader) refuse(row *rowState, i int, name, found, allowed string) {
	row.counts[i].Refused++
	if row.what = refused; row.err == nil {
		row.err = &config.Error{File: r.file, Line: row.line, Key: "column " + strconv.Quote(name),
			Found: found, Allowed: allowed}
	}
}

// missing reports whether a cell stands for a missing value.
func (s *Schema) missing(cell string) bool {
	return cell == null || slices.Contains(s.MissingCells, cell)
}

// missing applies the rule of a missing cell; filled says that a value stands for it.
func (r *reader) missing(row *rowState, i int, c *source) (filled bool) {
	row.counts[i].Missing++
	row.incomplete = true
	switch c.Missing {
	case Refuse:
		r.refuse(row, i, c.Name, "a missing cell", `a value; or missing = "drop" or a value in the schema`)
	case Drop:
		row.what = max(row.what, dropped)
	default:
		row.counts[i].Filled++
		return true
	}
	return false
}

// feature appends the features of column i.
func (r *reader) feature(row *rowState, i int, cell string) {
	c, o := &r.columns[i], r.out
	begin := len(o.X)
	o.X = append(o.X, make([]float32, c.width())...)
	x := o.X[begin:]
	absent := r.schema.missing(cell)
	if absent {
		if !r.missing(row, i, c) {
			return
		}
		if c.Indicator {
			x[len(x)-1] = 1
		}
	}
	if c.Kind == Number {
		if v, ok := c.number(cell, absent, r.how.DecimalComma); ok {
			x[0] = c.scaled(v, &row.counts[i])
		} else {
			r.refuse(row, i, c.Name, "a cell that is no number", pointed(r.how))
		}
		return
	}
	if absent {
		cell = c.Missing.(string)
	}
	switch k, ok := c.slots[cell]; {
	case ok:
		x[k] = 1
	case c.Other:
		x[len(c.Categories)] = 1
		if !absent {
			row.counts[i].Other++
		}
	default:
		r.refuse(row, i, c.Name, "a cell that is none of the categories",
			"a category of the schema, or other = true in it")
	}
}

// aim returns the class or the number to predict.
func (r *reader) aim(row *rowState, cell string) (label int, target float32) {
	c, i := &r.target, len(r.columns)
	if r.schema.missing(cell) {
		r.missing(row, i, c)
		return 0, 0
	}
	if r.schema.Target.Kind == Class {
		k, ok := c.slots[cell]
		if !ok {
			r.refuse(row, i, c.Name, "a cell that is none of the values", "a value of the schema's target")
		}
		return k, 0
	}
	v, ok := anyNumber(cell, r.how.DecimalComma)
	if !ok {
		r.refuse(row, i, c.Name, "a cell that is no number", pointed(r.how))
		return 0, 0
	}
	return 0, c.scaled(v, &row.counts[i])
}
