// Package rowfile keeps the finished rows of a long computation in a CSV file. A row is
// appended, and on disk, as soon as it is known; a computation that was stopped reads
// what is there and goes on. A crash can leave half a line at the end, which is dropped:
// the row is computed again. Shards of a computation write a file each and are merged.
package rowfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sotto/config"
)

// Codec says what the rows of a table are and how they are written.
type Codec[R any] struct {
	Header []string                         // the first line
	Key    func(r R) string                 // of several rows with one key the last counts
	Encode func(r R) []string               // as many fields as Header has
	Decode func(fields []string) (R, error) // a config.Error is given its file and line
	// Compare orders the finished table. Without it rows stay as they were added, and
	// nothing that is in the file is written again.
	Compare func(a, b R) int
	// Before, when not nil, is the header of tables of earlier versions, which lack the
	// last columns: these fields are "". A table with an order is given the new header.
	Before []string

	Row, Table string // what a row and a table are called in errors
	Columns    string // comes before Header where an error says what is allowed
	// Foreign, when not nil, says what is allowed in place of the header of another kind
	// of table; "" where only the columns differ.
	Foreign func(header []string) string
}

// encode writes lines of fields.
func encode(lines [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.WriteAll(lines) // a bytes.Buffer takes everything
	return b.Bytes()
}

// encode writes the header, if that is asked for, and rows in the order given.
func (c *Codec[R]) encode(header bool, rows []R) []byte {
	var lines [][]string
	if header {
		lines = append(lines, c.Header)
	}
	for _, r := range rows {
		lines = append(lines, c.Encode(r))
	}
	return encode(lines)
}

// whole is b without a last line that has no end.
func whole(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }

// lines reads the fields of whole lines.
func lines(name string, b []byte) ([][]string, error) {
	all, err := csv.NewReader(bytes.NewReader(whole(b))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// Header returns the first line of the table at path, nil where there is none.
func Header(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := lines(path, b)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// Decode reads a table; name is for errors. Rows are in order, one for each key. A table
// without a header is empty.
func Decode[R any](name string, b []byte, c Codec[R]) ([]R, error) {
	rows, err := c.decode(name, b)
	if err != nil {
		return nil, err
	}
	t := Table[R]{codec: c, at: map[string]int{}}
	t.put(rows)
	return t.sorted(), nil
}

// Read is Decode of a file.
func Read[R any](path string, c Codec[R]) ([]R, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, b, c)
}

// decode reads the rows of a table with this header, in the order of the file.
func (c *Codec[R]) decode(name string, b []byte) ([]R, error) {
	all, err := lines(name, b)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if c.Compare != nil && c.Before != nil && slices.Equal(all[0], c.Before) {
		lacking := make([]string, len(c.Header)-len(c.Before))
		for i := range all {
			all[i] = append(all[i], lacking...)
		}
	} else if !slices.Equal(all[0], c.Header) {
		return nil, c.refuse(name, all[0], c.Columns+strings.Join(c.Header, ","))
	}
	return c.rows(name, all[1:])
}

// refuse is the error of another header than was expected.
func (c *Codec[R]) refuse(name string, header []string, allowed string) error {
	if c.Foreign != nil && len(header) > 0 {
		if kind := c.Foreign(header); kind != "" {
			allowed = kind
		}
	}
	return &config.Error{File: name, Line: 1, Found: strings.Join(header, ","), Allowed: allowed}
}

// rows reads the lines below the header.
func (c *Codec[R]) rows(name string, lines [][]string) ([]R, error) {
	rows := make([]R, 0, len(lines))
	for i, fields := range lines {
		r, err := c.Decode(fields)
		if err != nil {
			var bad *config.Error
			if errors.As(err, &bad) {
				bad.File, bad.Line = name, i+2
			}
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Merge joins the tables of shards. They must have the same header, and rows of one key
// must be the same.
func Merge[R any](paths []string, c Codec[R]) ([]R, error) {
	t := Table[R]{codec: c, at: map[string]int{}}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all, err := lines(path, b)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, c.refuse(path, nil, strings.Join(c.Header, ",")+", as the first file")
		}
		if !slices.Equal(all[0], c.Header) {
			return nil, c.refuse(path, all[0], strings.Join(c.Header, ",")+", as the first file")
		}
		rows, err := c.rows(path, all[1:])
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if old, ok := t.Find(c.Key(r)); ok && !slices.Equal(c.Encode(old), c.Encode(r)) {
				return nil, &config.Error{
					File:    path,
					Key:     c.Row,
					Found:   fmt.Sprintf("%s %s with other figures than in an earlier file", c.Row, c.Key(r)),
					Allowed: "shards of one " + c.Table,
				}
			}
			t.put([]R{r})
		}
	}
	return t.sorted(), nil
}

// Encode writes a finished table.
func Encode[R any](rows []R, c Codec[R]) []byte { return c.encode(true, rows) }
