// Package sample has the statistics of figures of equal runs: their spread, and Student's
// t of differences that are paired.
package sample

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sample is a set of figures of equal runs.
type Sample []float64

// Mean is NaN without figures.
func (s Sample) Mean() float64 {
	sum := 0.
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

// SD is the sample standard deviation; NaN for fewer than two.
func (s Sample) SD() float64 {
	m, sum := s.Mean(), 0.
	for _, x := range s {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(s)-1))
}

// Student is the standard error of the mean of two figures or more, and the law of the
// mean over it if figures are normal around zero.
func (s Sample) Student() (standardError float64, law distuv.StudentsT) {
	n := float64(len(s))
	return s.SD() / math.Sqrt(n), distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}
}
