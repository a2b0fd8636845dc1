// Package score says how good predictions are: from probabilities or real predictions and
// the truth it computes figures, the figures of a trivial baseline, and intervals.
//
// It reads and writes nothing but its arguments. Figures of private records are private.
//
// A figure that the records do not define, such as the area under a curve where all have
// one class, is an error of type Undefined that says why. No figure is NaN or infinite.
//
// Figures of a classifier, with y the label of a record and p its probabilities:
//
//	accuracy     share of records whose predicted class is y; 0 to 1
//	auroc        probability that a record of class 1 is ranked above one of class 0,
//	             where equal ranks count one half; .5 by chance, 0 to 1
//	auprc        average precision: the sum over distinct ranks, from the highest, of
//	             (recall gained) x (precision down to there); 0 to 1, and by chance the
//	             share of class 1
//	log_loss     mean of -ln p_y, with p_y at least LeastProbability; 0 to 34.54
//	brier        two classes: mean of (p_1 - [y = 1])^2, 0 to 1. More: mean over records
//	             of the sum over classes of (p_k - [y = k])^2, 0 to 2
//	calibration_error  mean over records of |mean probability - share| of the record's
//	             bin, see Bin; 0 to 1, and larger by chance where records are few
//	sensitivity  share of class 1 that is predicted as 1 (recall); 0 to 1
//	specificity  share of class 0 that is predicted as 0; 0 to 1
//	precision    share of those predicted as 1 that are of class 1; 0 to 1
//	f1           2 TP / (2 TP + FP + FN) of class 1; 0 to 1
//
// With more than two classes auroc, auprc, sensitivity, specificity, precision and f1 are
// means over the classes that occur among the records, each against all others. The
// precision of a class that is never predicted counts as 0 in that mean.
//
// Figures of a regression:
//
//	r2    1 - sum of (target - prediction)^2 / sum of (target - mean target)^2; at most
//	      1, 0 for the mean of these targets, negative for worse
//	mae   mean of |target - prediction|, in units of the target
//	rmse  root of the mean of (target - prediction)^2, in units of the target
//
// and of one whose targets y are counts, with m the predicted mean:
//
//	deviance    mean of 2 (y ln(y/m) - y + m), of a Poisson variable; 0 for the targets
//	            themselves
//	mean_ratio  mean of m over mean of y; 1 for as many as there are
package score

import (
	"math"
	"slices"

	"sotto/config"
)

// Undefined says why a figure has no value for the records that there are.
type Undefined string

func (u Undefined) Error() string { return string(u) }

// Reasons for which figures have no value.
const (
	noRecords  Undefined = "there are no records"
	oneClass   Undefined = "all records have one class"
	noPositive Undefined = "no record has class 1"
	noNegative Undefined = "no record has class 0"
	nonePicked Undefined = "no record is predicted as class 1"
	noF1       Undefined = "no record has class 1 or is predicted as class 1"
	notFinite  Undefined = "a prediction is not finite"
	onlyRanks  Undefined = "the model ranks records and gives no probabilities"
	oneTarget  Undefined = "all targets are equal"
	noMean     Undefined = "a predicted mean is not above 0"
	negative   Undefined = "a target is below 0"
	noCount    Undefined = "all counts are 0"
	beyond     Undefined = "it is beyond the range of numbers"
)

// LeastProbability is what log_loss raises smaller probabilities of the label to: 1e-15.
const LeastProbability = 1e-15

// Scored is predictions of one model for all records: Predictions or Values.
type Scored interface {
	// Records is how many there are.
	Records() int
	// measures are the figures in the order in which they are shown.
	measures() []measure
}

// measure is a figure by name. of computes it of records that count as often as w says.
type measure struct {
	name  string
	of    func(w []int32) (float64, error)
	heavy bool // has no interval
	// apart, where it is not nil, bounds how far the figure of records is from the truth
	// by how far their parts are from those of the records that were drawn from: for a
	// figure that chance only makes larger, so that resamples are not around the truth.
	apart func(w []int32) (float64, error)
}

// Names returns the names of the figures that s can have, in the order in which they are
// shown.
func Names(s Scored) []string {
	var names []string
	for _, m := range s.measures() {
		names = append(names, m.name)
	}
	return names
}

// Of returns a figure of s by name. The error is of type Undefined where the records have
// no such figure, and a config.Error for a name that is none of Names.
func Of(s Scored, name string) (float64, error) {
	for _, m := range s.measures() {
		if m.name == name {
			return m.value(ones(s.Records()))
		}
	}
	allowed := ""
	for i, n := range Names(s) {
		if i > 0 {
			allowed += ", "
		}
		allowed += n
	}
	return 0, config.Bad("figure", name, allowed)
}

// value is finite, or an error says why there is none.
func (m *measure) value(w []int32) (float64, error) {
	if !slices.ContainsFunc(w, func(n int32) bool { return n > 0 }) {
		return 0, noRecords
	}
	v, err := m.of(w)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, beyond
	}
	return v, err
}

func ones(n int) []int32 {
	w := make([]int32, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// ratio is a/b, or why it is undefined where b is 0.
func ratio(a, b int64, why Undefined) (float64, error) {
	if b == 0 {
		return 0, why
	}
	return float64(a) / float64(b), nil
}
