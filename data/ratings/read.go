// Package ratings reads MovieLens' files, and draws ratings of that size.
package ratings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data/als"
	"sotto/tensor"
)

const (
	maxRatings = 1 << 22
	maxRaters  = 20_000
	maxItems   = 20_000
)

// Read reads MovieLens' u.data: on each line user, item, rating and time,
// separated by tabs, in any order. Errors are *config.Error with the line: another number
// of cells, ids outside 1 to 20,000, a rating that is no whole number from 1 to 5, a time
// that is no whole number of seconds, an item that its user rates twice, no lines, more
// than 2^22.
func Read(r io.Reader, name string) ([]als.Rating, error) {
	var all []als.Rating
	seen := map[[2]int32]bool{}
	err := eachLine(r, name, func(text string) *config.Error {
		cells := strings.Split(text, "\t")
		if len(cells) != 4 {
			return &config.Error{Found: fmt.Sprintf("%d cells", len(cells)),
				Allowed: "user, item, rating, time, separated by tabs"}
		}
		user, bad := wholeNumber("user", cells[0], 1, maxRaters)
		if bad != nil {
			return bad
		}
		item, bad := wholeNumber("item", cells[1], 1, maxItems)
		if bad != nil {
			return bad
		}
		value, bad := wholeNumber("rating", cells[2], 1, 5)
		if bad != nil {
			return bad
		}
		if _, bad = wholeNumber("time", cells[3], 0, 1<<40); bad != nil {
			return bad
		}
		k := [2]int32{int32(user), int32(item)}
		if seen[k] {
			return &config.Error{Key: "item", Found: cells[1],
				Allowed: "items that user " + cells[0] + " has not rated on an earlier line"}
		}
		if len(all) == maxRatings {
			return &config.Error{Found: "one more line",
				Allowed: fmt.Sprintf("at most %d ratings", maxRatings)}
		}
		seen[k] = true
		all = append(all, als.Rating{User: k[0], Item: k[1], Value: float64(value)})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = &config.Error{File: name, Line: 1, Found: "no ratings", Allowed: "at least one"}
	}
	return all, err
}

const (
	itemCells  = 24
	genreCount = 19
)

// ReadGenres reads MovieLens' u.item: on each line 24 cells separated by "|", the id
// first, ascending from 1 without a gap, and 19 genre flags, 0 or 1, last. Titles are not
// looked at. Row i-1 has the flags of movie i. Errors are *config.Error with the line.
func ReadGenres(r io.Reader, name string) (tensor.Mat, error) {
	var flags []float32
	rows := 0
	err := eachLine(r, name, func(text string) *config.Error {
		cells := strings.Split(text, "|")
		if len(cells) != itemCells {
			return &config.Error{Found: fmt.Sprintf("%d cells", len(cells)),
				Allowed: fmt.Sprintf("%d, separated by |", itemCells)}
		}
		if rows == maxItems {
			return &config.Error{Found: "one more line", Allowed: fmt.Sprintf("at most %d movies", maxItems)}
		}
		if _, bad := wholeNumber("id", cells[0], rows+1, rows+1); bad != nil {
			return bad
		}
		for _, c := range cells[itemCells-genreCount:] {
			v, bad := wholeNumber("genre", c, 0, 1)
			if bad != nil {
				return bad
			}
			flags = append(flags, float32(v))
		}
		rows++
		return nil
	})
	if err == nil && rows == 0 {
		err = &config.Error{File: name, Line: 1, Found: "no movies", Allowed: "at least one"}
	}
	if err != nil {
		return tensor.Mat{}, err
	}
	return tensor.Mat{Rows: rows, Cols: genreCount, Stride: genreCount, Data: flags}, nil
}

// eachLine calls f for every line, without its end, and places its errors.
func eachLine(r io.Reader, name string, f func(text string) *config.Error) error {
	sc := bufio.NewScanner(r)
	line := 0
	for sc.Scan() {
		line++
		if err := f(sc.Text()); err != nil {
			err.File, err.Line = name, line
			return err
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &config.Error{
			File:    name,
			Line:    line + 1,
			Found:   "a line above 64 KiB",
			Allowed: "shorter lines",
		}
	} else if err != nil {
		return fmt.Errorf("data: %s: %w", name, err)
	}
	return nil
}

// wholeNumber reads a decimal number without a sign.
func wholeNumber(key, cell string, low, high int) (int, *config.Error) {
	v, err := strconv.ParseUint(cell, 10, 63)
	if err != nil || int(v) < low || int(v) > high {
		return 0, &config.Error{Key: key, Found: strconv.Quote(cell),
			Allowed: fmt.Sprintf("%d to %d", low, high)}
	}
	return int(v), nil
}
