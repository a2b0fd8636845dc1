package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/internal/atomicfile"
)

// part are the cells that a process is to run: those of its shard that have the values of
// [Options.Only].
func (s *Sweep) part(opt *Options) ([]int, error) {
	if err := s.checkOnly(opt.Only); err != nil {
		return nil, err
	}
	var cells []int
	found := len(opt.Only) == 0
	for i, c := range s.cells {
		if !s.has(c.Values, opt.Only) {
			continue
		}
		found = true
		if i%opt.Shards == opt.Shard {
			cells = append(cells, i)
		}
	}
	if !found {
		return nil, config.Bad("only", onlyString(opt.Only), "values that a cell has together")
	}
	return cells, nil
}

// has reports whether values of the axes have those of only.
func (s *Sweep) has(values []string, only map[string]string) bool {
	for k, axis := range s.Axes {
		if v, ok := only[axis]; ok && !same(v, values[k]) {
			return false
		}
	}
	return true
}

// checkOnly refuses an axis that the sweep lacks, and a value that no cell has.
func (s *Sweep) checkOnly(only map[string]string) error {
	for _, axis := range slices.Sorted(maps.Keys(only)) {
		k := slices.Index(s.Axes, axis)
		if k < 0 {
			return config.Bad("only", axis, "an axis of this sweep: "+
				strings.Join(s.Axes, ", "))
		}
		var values []string
		known := false
		for _, c := range s.cells {
			known = known || same(c.Values[k], only[axis])
			if v := fmt.Sprintf("%q", c.Values[k]); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if !known {
			return config.Bad("only", axis+"="+only[axis], fmt.Sprintf("a value of %s: %s",
				axis, strings.Join(values, ", ")))
		}
	}
	return nil
}

// onlyString writes only as the flag has it.
func onlyString(only map[string]string) string {
	var parts []string
	for _, axis := range slices.Sorted(maps.Keys(only)) {
		parts = append(parts, axis+"="+only[axis])
	}
	return strings.Join(parts, " ")
}

// ReadDir reads all rows of a sweep's directory, those of shards included, in the order
// of cells: a cell may have several, of several settings, engines or shards. Every file
// must have these axes. A directory without rows is empty.
func ReadDir(dir string, axes []string) ([]Row, error) {
	paths, err := atomicfile.Glob(dir, "cells-*-of-*.csv")
	if err != nil {
		return nil, err
	}
	whole, err := atomicfile.Glob(dir, cellsName(0, 1))
	if err != nil {
		return nil, err
	}
	var all []Row
	for _, path := range append(whole, paths...) {
		found, rows, err := ReadRows(path)
		if err != nil {
			return nil, err
		}
		if found != nil && !slices.Equal(found, axes) {
			return nil, &config.Error{File: path, Line: 1, Found: fmt.Sprintf("axes %v", found),
				Allowed: fmt.Sprintf("the axes of this study, %v", axes)}
		}
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b Row) int { return cmp.Compare(a.Cell, b.Cell) })
	return all, nil
}

// takeOver adds to the table of a cell the row that a process of another division into
// shards has left in the directory, if it is of this experiment. It reports whether the
// table has the cell. A row of another experiment is superseded by the next that is
// added.
func (w *sweeping) takeOver(i int, e *experiment.Experiment) (bool, error) {
	r, there := w.table.Find(strconv.Itoa(i))
	if !there || !w.s.isOf(&r, e) {
		k := slices.IndexFunc(w.left, func(r Row) bool { return r.Cell == i && w.s.isOf(&r, e) })
		if k < 0 {
			w.foreign(i, e)
			return false, nil
		}
		r, there = w.left[k], false
	}
	if w.s.more.data && r.Data == "" { // a table of an earlier version
		r.Data, there = experiment.DataDigest(e), false
	}
	if there {
		return true, nil
	}
	return true, w.table.Add(r)
}

// standing is how many cells have a row, those included that this process has not come
// to.
func (w *sweeping) standing() int {
	n := 0
	for _, i := range w.cells {
		_, there := w.table.Find(strconv.Itoa(i))
		if there || slices.ContainsFunc(w.left, func(r Row) bool { return r.Cell == i }) {
			n++
		}
	}
	return n
}

// isOf reports whether a row is of this experiment. Rows of studies do not say of which
// data they are.
func (s *Sweep) isOf(r *Row, e *experiment.Experiment) bool {
	if !s.more.data {
		return r.Settings(e)
	}
	return r.Of(e)
}

// foreign counts a cell whose rows are of other data, or do not say of which, and of the
// same settings.
func (w *sweeping) foreign(i int, e *experiment.Experiment) {
	if !slices.ContainsFunc(w.left, func(r Row) bool { return r.Cell == i && r.Settings(e) }) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others++
}
