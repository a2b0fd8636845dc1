package reproduce

import (
	"fmt"
	"math"
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

// String is "mean ± sd", in percent points where the figures are.
func (s Sample) String() string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.2f", s[0])
	}
	return fmt.Sprintf("%.2f ± %.2f", s.Mean(), s.SD())
}

// Significant is "mean ± sd" to three digits: errors span many orders.
func (s Sample) Significant() string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.3g", s[0])
	}
	return fmt.Sprintf("%.3g ± %.2g", s.Mean(), s.SD())
}
