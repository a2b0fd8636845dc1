package schema

import (
	"iter"
	"slices"
	"strings"
)

// Sheet is an owner's file as it stands, cell by cell, however it is written. It is
// private.
type Sheet struct {
	// Columns are those of the file by name, in its order, without names that are there
	// twice. Used says which of them the schema reads.
	Columns []string
	Used    []bool
	// Rows yields the cells of every row, "" where a value is missing, numbers with a
	// decimal point. The slice is valid until the next one.
	Rows iter.Seq[[]string]
	// Lines yields every row as text of the columns that the schema reads, in its order:
	// the same for the same record, however its file is written.
	Lines iter.Seq[[]byte]
}

// Sheet reads the cells of a file that Read has read.
func (s *Schema) Sheet(file string, b []byte, how Reading) (*Sheet, error) {
	needed := s.needed(task{})
	in, err := how.open(file, b, needed)
	if err != nil {
		return nil, err
	}
	out := new(Sheet)
	var at []int // places in the file
	for k, name := range in.header {
		first := slices.Index(in.header, name)
		if first != k || slices.Contains(in.header[k+1:], name) {
			continue
		}
		at = append(at, k)
		out.Columns = append(out.Columns, name)
		out.Used = append(out.Used, slices.Contains(needed, name))
	}
	comma := make([]bool, len(at)) // numbers with a decimal comma
	for k, name := range out.Columns {
		comma[k] = how.DecimalComma && s.isNumber(name)
	}
	out.Rows = func(yield func([]string) bool) {
		in, err := how.open(file, b, needed)
		row := make([]string, len(at))
		for err == nil {
			var cells []string
			if cells, _, err = in.next(); err != nil { // the end: Read found no fault
				return
			}
			for k, place := range at {
				row[k] = strings.TrimSpace(cells[place])
				if s.missing(row[k]) {
					row[k] = ""
				}
				if comma[k] {
					row[k] = strings.Replace(row[k], ",", ".", 1)
				}
			}
			if !yield(row) {
				return
			}
		}
	}
	out.Lines = func(yield func([]byte) bool) {
		for row := range out.Rows {
			var line []byte
			for _, name := range needed {
				line = append(append(line, row[slices.Index(out.Columns, name)]...), 0x1f)
			}
			if !yield(line) {
				return
			}
		}
	}
	return out, nil
}

// isNumber reports whether the column called name holds numbers.
func (s *Schema) isNumber(name string) bool {
	return s.Target.Column == name && s.Target.Kind == Number ||
		slices.ContainsFunc(s.Columns, func(c Column) bool { return c.Name == name && c.Kind == Number })
}
