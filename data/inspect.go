package data

import (
	"errors"
	"math"
	"os"
	"path/filepath"
)

// Summary describes a data set as `sotto data inspect` prints it. Counts and moments are
// exact and not private: do not publish them for data that are to be protected.
type Summary struct {
	Name       string   `json:"name"`
	Records    int      `json:"records"`
	Shape      [3]int   `json:"shape"`
	Classes    int      `json:"classes"`
	ClassNames []string `json:"class_names,omitempty"`
	Counts     []int    `json:"counts,omitempty"` // records of each class
	GroupNames []string `json:"group_names,omitempty"`
	Groups     []int    `json:"groups,omitempty"` // records of each group
	Features   Range    `json:"features"`
	Targets    *Range   `json:"targets,omitempty"` // regression only
	NormMax    float64  `json:"norm_max"`          // largest Euclidean norm of a record's features
	Digest     string   `json:"digest"`
}

// Range summarises values.
type Range struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

func rangeOf(rows int, row func(i int) []float32) Range {
	r := Range{Min: math.Inf(1), Max: math.Inf(-1)}
	var n, s, s2 float64
	for i := range rows {
		for _, v := range row(i) {
			x := float64(v)
			r.Min, r.Max = min(r.Min, x), max(r.Max, x)
			n++
			s += x
			s2 += x * x
		}
	}
	if n == 0 {
		return Range{}
	}
	r.Mean = s / n
	r.Std = math.Sqrt(max(0, s2/n-r.Mean*r.Mean))
	return r
}

// Inspect summarises d.
func Inspect(d *Dataset) Summary {
	s := Summary{Name: d.Name, Records: d.Len(), Shape: d.Shape, Classes: d.Classes, ClassNames: d.ClassNames,
		GroupNames: d.GroupNames, Digest: d.Digest}
	s.Features = rangeOf(d.Len(), func(i int) []float32 { return d.X.Row(i) })
	for i := range d.Len() {
		s.NormMax = max(s.NormMax, d.X.Row(i).Norm())
	}
	if d.Targets != nil {
		r := rangeOf(1, func(int) []float32 { return d.Targets })
		s.Targets = &r
	}
	if d.Labels != nil {
		s.Counts = tally(d.Labels, d.Classes)
	}
	if d.Groups != nil {
		s.Groups = tally(d.Groups, len(d.GroupNames))
	}
	return s
}

func tally(of []int32, n int) []int {
	c := make([]int, n)
	for _, v := range of {
		c[v]++
	}
	return c
}

// FileStatus is the result of checking one published file: Err is nil, or wraps
// [ErrMissing] or [ErrAltered].
type FileStatus struct {
	File
	Err error
}

// State is "ok", "missing" or "altered".
func (s FileStatus) State() string {
	switch {
	case s.Err == nil:
		return "ok"
	case errors.Is(s.Err, ErrMissing):
		return "missing"
	}
	return "altered"
}

// Verify compares every published file below dir with its size and SHA-256.
func Verify(dir string) []FileStatus {
	var all []FileStatus
	for _, f := range files {
		_, err := (&store{dir: dir}).read(f.Path)
		all = append(all, FileStatus{f, err})
	}
	return all
}

// Entry describes one data set for `sotto data list`.
type Entry struct {
	Name    string `json:"name"`
	Records string `json:"records"` // training and test records
	Shape   string `json:"shape"`
	Task    string `json:"task"`
	Terms   string `json:"terms"` // licence or conditions, as commonly stated
	Files   []File `json:"files,omitempty"`
	// Fetchable says that Fetch can download the data set.
	Fetchable bool `json:"fetchable"`
}

// Present reports whether all files of the data set exist below dir with the published
// sizes; it does not read them. Generators are always present.
func (e Entry) Present(dir string) bool {
	for _, f := range e.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() != f.Bytes {
			return false
		}
	}
	return true
}
