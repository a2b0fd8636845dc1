package reproduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/sweep"
)

// finished reads the rows that are there, those of shards included, and returns besides
// what has to be said of them. Rows of other settings than the study's, and of other
// engines, are left out; nothing but such rows is an error, for an empty table would take
// the place of a finished one.
func (s *Study) finished(name string, opt Options) (rows []sweep.Row, notes []string, err error) {
	all, err := sweep.ReadDir(opt.Dir, s.Axes)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		if _, err := os.Stat(filepath.Join(opt.Dir, "cells.csv")); err != nil {
			return nil, nil, err
		}
	}
	cells := s.Cells(opt.Scale)
	var engines []string // of rows of the study's settings that other versions have made
	for _, r := range all {
		switch {
		case r.Cell >= len(cells) || !slices.Equal(r.Values, cells[r.Cell].Values):
		case r.Engine != experiment.EngineVersion:
			engines = append(engines, r.Engine)
		default:
			rows = append(rows, r)
		}
	}
	if rows, notes, err = s.ofSize(name, rows, opt); err != nil {
		return nil, nil, err
	}
	if len(all) > 0 && len(rows) == 0 {
		if slices.Sort(engines); len(engines) > 0 {
			return nil, nil, &config.Error{File: opt.Dir, Key: "engine",
				Found:   "rows of " + strings.Join(slices.Compact(engines), ", ") + " alone",
				Allowed: "rows of " + experiment.EngineVersion + ", the version of this program"}
		}
		return nil, nil, &config.Error{File: opt.Dir, Key: "rows", Found: "rows of other settings alone",
			Allowed: "rows of this study at scale " + string(opt.Scale)}
	}
	same := func(a, b sweep.Row) bool { return a.Cell == b.Cell }
	if rows = slices.CompactFunc(rows, same); opt.Whole {
		err = s.whole(rows, cells, opt.Dir)
	}
	return rows, notes, err
}

// whole names the first cell that has no row.
func (s *Study) whole(rows []sweep.Row, cells []sweep.Cell, dir string) error {
	for i, c := range cells {
		if i < len(rows) && rows[i].Cell == i {
			continue
		}
		return &config.Error{File: dir, Key: "rows",
			Found: fmt.Sprintf("%d that count, none of cell %d (%s = %s)", len(rows), i,
				strings.Join(s.Axes, ", "), strings.Join(c.Values, ", ")),
			Allowed: fmt.Sprintf("%d, one of every cell", len(cells))}
	}
	return nil
}

// ofSize leaves out the rows of other sizes that have a place and values of this one:
// their configurations have other digests. Where data are missing, of which a cell is
// built, such rows stay beside others that this size alone has, and a note says so;
// without such others they are refused.
func (s *Study) ofSize(name string, rows []sweep.Row, opt Options) (fit []sweep.Row, notes []string,
	err error) {
	cells := s.Cells(opt.Scale)
	var others [][]sweep.Cell
	for _, size := range s.Sizes() {
		if size != opt.Scale {
			others = append(others, s.Cells(size))
		}
	}
	alike := func(r sweep.Row) bool {
		return slices.ContainsFunc(others, func(o []sweep.Cell) bool {
			return r.Cell < len(o) && slices.Equal(o[r.Cell].Values, r.Values) &&
				!slices.Equal(o[r.Cell].Set, cells[r.Cell].Set)
		})
	}
	f := found{name: name, study: s, cache: data.NewCache()}
	var missing error
	unsure := 0
	for _, r := range rows {
		if alike(r) {
			e, err := f.build(cells[r.Cell], opt.Sweep.DataDir)
			switch {
			case errors.Is(err, data.ErrMissing):
				missing, unsure = err, unsure+1
			case err != nil:
				return nil, nil, err
			case e.Digest() != r.ConfigDigest:
				continue
			}
		}
		fit = append(fit, r)
	}
	sure := func(r sweep.Row) bool { return !alike(r) }
	if unsure > 0 && !slices.ContainsFunc(rows, sure) {
		return nil, nil, fmt.Errorf("%s: whether rows are of scale %s: %w", opt.Dir, opt.Scale, missing)
	}
	if unsure > 0 {
		notes = append(notes, fmt.Sprintf("%s not checked to be of scale %s: their data are missing",
			config.Count(unsure, "row"), opt.Scale))
	}
	return fit, notes, nil
}
