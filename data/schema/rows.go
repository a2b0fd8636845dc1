package schema

import (
	"bytes"
	"io"

	"sotto/config"
)

// rows are those of an owner's file, whatever its format.
type rows struct {
	header []string // without space around the names
	layout Layout
	// next returns the cells of the next row, valid until the one after, and its line in
	// the file, or its number from 1 where the file has no lines; io.EOF at the end.
	next func() ([]string, int, error)
}

// open begins to read a file. The columns needed decide the delimiter; without any it is
// the one that cuts the first line into most cells.
func (r Reading) open(file string, b []byte, needed []string) (*rows, error) {
	if bytes.HasPrefix(b, []byte(parquetMagic)) {
		return r.openParquet(file, b)
	}
	text, layout, err := r.decode(file, b)
	if err != nil {
		return nil, err
	}
	if needed == nil {
		err = r.guess(file, text, &layout)
	} else {
		err = r.delimiter(file, text, &layout, needed)
	}
	if err != nil {
		return nil, err
	}
	cr := newCSV(text, layout.comma)
	header, err := cr.Read()
	if err == io.EOF {
		return nil, &config.Error{File: file, Line: 1, Found: "no line",
			Allowed: "a first line with the names of the columns"}
	}
	if err != nil {
		return nil, csvFault(err, file)
	}
	trim(header)
	cr.ReuseRecord = true
	return &rows{header: header, layout: layout, next: func() ([]string, int, error) {
		cells, err := cr.Read()
		if err == io.EOF {
			return nil, 0, io.EOF
		}
		if err != nil {
			return nil, 0, csvFault(err, file)
		}
		line, _ := cr.FieldPos(0)
		return cells, line, nil
	}}, nil
}
