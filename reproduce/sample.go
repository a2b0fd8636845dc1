package reproduce

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/internal/sample"
)

// Sample is a set of figures of equal runs.
type Sample []float64

// Mean is NaN without figures.
func (s Sample) Mean() float64 { return sample.Sample(s).Mean() }

// SD is the sample standard deviation; NaN for fewer than two.
func (s Sample) SD() float64 { return sample.Sample(s).SD() }

// String is "mean ± sd" with two digits behind the point, as accuracies in percent have.
func (s Sample) String() string { return s.Format("%.2f", "%.2f") }

// Significant is "mean ± sd" to three digits: errors span many orders.
func (s Sample) Significant() string { return s.Format("%.3g", "%.2g") }

// Format is "mean ± sd" by these verbs, the mean alone of one figure, nothing of none.
func (s Sample) Format(mean, sd string) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(mean, s[0])
	}
	return fmt.Sprintf(mean+" ± "+sd, s.Mean(), s.SD())
}

// Less is s less another sample of the same rows; nothing where they are no pairs.
// Samples of two runs are paired by seed: see [Groups.Less] and [Groups.Shared].
func (s Sample) Less(other Sample) (difference Sample) {
	for i := range s {
		if len(s) == len(other) {
			difference = append(difference, s[i]-other[i])
		}
	}
	return difference
}

// Student is the standard error of the mean of two figures or more, and the law of the
// mean over it if figures are normal around zero.
func (s Sample) Student() (standardError float64, law distuv.StudentsT) {
	return sample.Sample(s).Student()
}

// FitSlope is the slope of a least-squares line through three points or more, and half
// the width of its 95 % interval by Student's t; NaN for fewer points.
func FitSlope(xs, ys []float64) (slope, half float64) {
	if len(xs) < 3 {
		return math.NaN(), math.NaN()
	}
	mx, my := Sample(xs).Mean(), Sample(ys).Mean()
	var sxx, sxy float64
	for i, x := range xs {
		sxx += (x - mx) * (x - mx)
		sxy += (x - mx) * (ys[i] - my)
	}
	slope = sxy / sxx
	residual := 0.
	for i, x := range xs {
		r := ys[i] - my - slope*(x-mx)
		residual += r * r
	}
	free := float64(len(xs) - 2)
	return slope, distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(.975) * math.Sqrt(residual/free/sxx)
}
