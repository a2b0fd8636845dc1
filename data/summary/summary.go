// Package summary says of a data set what people ask first.
package summary

import (
	"math"

	"sotto/data"
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

// Of summarises d.
func Of(d *data.Dataset) Summary {
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
		for int(v) >= len(c) { // groups may have no names
			c = append(c, 0)
		}
		c[v]++
	}
	return c
}
