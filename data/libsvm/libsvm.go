// Package libsvm reads the sparse text format of LIBSVM.
package libsvm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/internal/decimal"
	"sotto/tensor"
)

// maxCells bounds what a file may make of itself.
const maxCells = 1 << 28

// Read reads the sparse text format of LIBSVM (Chang, Lin 2011) into dense rows: on
// each line a numeric label, then index:value pairs with indices from 1, ascending.
// Everything after '#' is a comment. dim is the number of columns; 0 takes the largest
// index, which differs between parts of one data set, so give it for a test file. Errors
// are *config.Error with the line: a label or value that is no finite number, an index
// out of order or range, no rows, more than 2^28 cells.
func Read(r io.Reader, name string, dim int) (tensor.Mat, []float64, error) {
	if dim < 0 || dim > maxCells {
		return tensor.Mat{}, nil, config.Bad("dim", dim, fmt.Sprintf("0 to %d", maxCells))
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	p := sparse{dim: dim}
	line := 0
	for sc.Scan() {
		line++
		text, _, _ := strings.Cut(sc.Text(), "#")
		if fields := strings.Fields(text); len(fields) > 0 {
			if err := p.row(fields); err != nil {
				err.File, err.Line = name, line
				return tensor.Mat{}, nil, err
			}
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return tensor.Mat{}, nil, &config.Error{
			File:    name,
			Line:    line + 1,
			Found:   "a line above 16 MiB",
			Allowed: "shorter lines",
		}
	} else if err != nil {
		return tensor.Mat{}, nil, fmt.Errorf("libsvm: %s: %w", name, err)
	}
	if dim == 0 {
		dim = p.largest
	}
	rows := len(p.labels)
	if rows == 0 {
		return tensor.Mat{}, nil, &config.Error{File: name, Line: 1, Found: "no rows",
			Allowed: "at least one row"}
	}
	if dim > 0 && rows > maxCells/dim {
		return tensor.Mat{}, nil, &config.Error{
			File:    name,
			Line:    line,
			Found:   fmt.Sprintf("%d rows of %d columns", rows, dim),
			Allowed: fmt.Sprintf("at most %d cells", maxCells),
		}
	}
	x := tensor.NewMat(rows, dim)
	for i := range rows {
		row := x.Row(i)
		for k := p.start[i]; k < p.end(i); k++ {
			row[p.index[k]-1] = p.value[k]
		}
	}
	return x, p.labels, nil
}

// sparse collects rows while the dimension is unknown.
type sparse struct {
	dim, largest int
	labels       []float64
	start        []int
	index        []int
	value        []float32
}

func (p *sparse) end(i int) int {
	if i+1 < len(p.start) {
		return p.start[i+1]
	}
	return len(p.index)
}

func (p *sparse) row(fields []string) *config.Error {
	label, ok := decimal.Parse(fields[0])
	if !ok {
		return &config.Error{Key: "label", Found: strconv.Quote(fields[0]),
			Allowed: "a finite decimal number"}
	}
	p.labels = append(p.labels, label)
	p.start = append(p.start, len(p.index))
	last := 0
	for _, f := range fields[1:] {
		at, text, ok := strings.Cut(f, ":")
		index, err := strconv.Atoi(at)
		if !ok || err != nil {
			return &config.Error{Key: "pair", Found: strconv.Quote(f), Allowed: "index:value"}
		}
		most := maxCells
		if p.dim > 0 {
			most = p.dim
		}
		if index <= last || index > most {
			return &config.Error{Key: "index", Found: at,
				Allowed: fmt.Sprintf("%d to %d, ascending within a row", last+1, most)}
		}
		v, ok := decimal.Parse(text)
		if !ok {
			return &config.Error{Key: "value", Found: strconv.Quote(text), Allowed: "a finite decimal number"}
		}
		p.index, p.value = append(p.index, index), append(p.value, float32(v))
		last = index
		p.largest = max(p.largest, index)
	}
	return nil
}
