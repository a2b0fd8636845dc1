package score

import (
	"math"

	"sotto/config"
)

// Predictions are a classifier's, with the labels. It is immutable, and keeps the slices
// that it is made of.
type Predictions struct {
	classes           int
	labels, predicted []int32
	p                 []float64 // by record and class; nil: the model only ranks
	logLosses, briers []float64 // by record; nil where p is
	orders            []order   // by class, but with two classes of class 1 alone
	broken            bool      // an output is not finite
}

// maxIntervals is the most classes for which auroc and auprc have an interval: each
// resample goes over all records once for every class.
const maxIntervals = 20

// Probabilities takes p, with one row of as many probabilities as there are classes for
// each label. The most probable class is predicted, of equal ones the first. classes is 2
// or more, labels are 0 to classes-1, and each row sums to 1 within 1e-6; what is not so
// is a config.Error.
func Probabilities(p []float64, classes int, labels []int32) (*Predictions, error) {
	if err := checkClasses(len(p), classes, classes, labels); err != nil {
		return nil, err
	}
	for i := range labels {
		var sum float64
		for _, v := range p[i*classes : (i+1)*classes] {
			if !(v >= 0 && v <= 1) {
				return nil, config.Bad("probability", v, "0 to 1")
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= 1e-6) {
			return nil, config.Bad("sum of probabilities", sum, "1, within 1e-6")
		}
	}
	s := &Predictions{classes: classes, labels: labels, p: p}
	s.decide(p, classes)
	s.lose()
	s.rank(func(row, class int) float64 { return p[row*classes+class] })
	return s, nil
}

// Logits takes rows of one logit, that of class 1 of two, or of one for each class, whose
// softmax are the probabilities. Class 1 is predicted where a single logit is above 0;
// else the class of the largest, of equal ones the first. Records are ranked by log-odds,
// which still differ where probabilities round to 1. Where a logit is not finite, only
// figures that count classes are defined. Errors are those of Probabilities.
func Logits(z []float64, outputs, classes int, labels []int32) (*Predictions, error) {
	s, err := Margins(z, outputs, classes, labels)
	if err != nil || s.broken {
		return s, err
	}
	odds := make([]float64, len(labels)*classes)
	s.p = make([]float64, len(odds))
	for i := range labels {
		row, p, o := z[i*outputs:(i+1)*outputs], s.p[i*classes:], odds[i*classes:]
		if outputs == 1 {
			p[0], p[1], o[1] = 1/(1+math.Exp(row[0])), 1/(1+math.Exp(-row[0])), row[0]
			continue
		}
		softmax(p, o, row, int(s.predicted[i]))
	}
	s.lose()
	s.rank(func(row, class int) float64 { return odds[row*classes+class] })
	return s, nil
}

// softmax writes probabilities p and log-odds o of logits z, of which top is the largest.
func softmax(p, o, z []float64, top int) {
	var others float64 // all but the largest, whose term is 1
	for k, v := range z {
		if p[k] = math.Exp(v - z[top]); k != top {
			others += p[k]
		}
	}
	for k, v := range z {
		rest := 1 + (others - p[k])
		if k == top {
			rest = others
		}
		o[k] = v - z[top] - math.Log(rest)
		p[k] /= 1 + others
	}
}

// Margins takes what Logits takes, of a model whose outputs rank records and decide, but
// stand for no probability, such as one with the hinge loss. log_loss, brier and
// calibration_error are undefined.
func Margins(z []float64, outputs, classes int, labels []int32) (*Predictions, error) {
	if outputs != classes && (outputs != 1 || classes != 2) {
		return nil, config.Bad("outputs", outputs, "one for each class, or 1 for two classes")
	}
	if err := checkClasses(len(z), outputs, classes, labels); err != nil {
		return nil, err
	}
	s := &Predictions{classes: classes, labels: labels}
	s.decide(z, outputs)
	for _, v := range z {
		s.broken = s.broken || math.IsNaN(v) || math.IsInf(v, 0)
	}
	if !s.broken {
		s.rank(func(row, class int) float64 {
			if outputs == 1 {
				return z[row]
			}
			return z[row*outputs+class]
		})
	}
	return s, nil
}

// Majority is the model that knows nothing but the labels of a training set: it predicts
// their most frequent class, of equal ones the first, and their shares as probabilities.
// There must be at least one training label. Other errors are those of Probabilities.
func Majority(training []int32, classes int, labels []int32) (*Predictions, error) {
	if err := checkClasses(len(training), 1, classes, training); err != nil {
		return nil, err
	}
	if len(training) == 0 {
		return nil, config.Bad("training labels", 0, "at least one")
	}
	share := make([]float64, classes)
	for _, y := range training {
		share[y]++
	}
	p := make([]float64, 0, len(labels)*classes)
	for range labels {
		for _, n := range share {
			p = append(p, n/float64(len(training)))
		}
	}
	return Probabilities(p, classes, labels)
}

func checkClasses(values, outputs, classes int, labels []int32) error {
	if classes < 2 {
		return config.Bad("classes", classes, "2 or more")
	}
	if values%outputs != 0 || values/outputs != len(labels) {
		return config.Bad("predictions", values, "a row for each label")
	}
	for _, y := range labels {
		if y < 0 || int(y) >= classes {
			return config.Bad("label", y, "0 to classes-1")
		}
	}
	return nil
}

// decide predicts as model.Evaluate does.
func (s *Predictions) decide(z []float64, outputs int) {
	s.predicted = make([]int32, len(s.labels))
	for i := range s.labels {
		row, best := z[i*outputs:(i+1)*outputs], 0
		for k, v := range row {
			if v > row[best] {
				best = k
			}
		}
		if outputs == 1 && row[0] > 0 {
			best = 1
		}
		s.predicted[i] = int32(best)
	}
}

// rank sorts the records, by class.
func (s *Predictions) rank(at func(row, class int) float64) {
	s.orders = nil
	for k := range s.classes {
		if s.classes == 2 && k == 0 {
			s.orders = append(s.orders, order{})
			continue
		}
		s.orders = append(s.orders, newOrder(len(s.labels), func(row int) float64 { return at(row, k) },
			func(row int) bool { return s.labels[row] == int32(k) }))
	}
}

// Records implements Scored.
func (s *Predictions) Records() int { return len(s.labels) }

// Classes is how many there may be.
func (s *Predictions) Classes() int { return s.classes }

// Confusion counts records: a row for each label, a column for each predicted class.
func (s *Predictions) Confusion() [][]int {
	m := make([][]int, s.classes)
	for k := range m {
		m[k] = make([]int, s.classes)
	}
	for i, y := range s.labels {
		m[y][s.predicted[i]]++
	}
	return m
}

func (s *Predictions) measures() []measure {
	heavy := s.classes > maxIntervals
	return []measure{
		{name: "accuracy", of: s.accuracy},
		{name: "auroc", of: s.areas((*order).auroc), heavy: heavy},
		{name: "auprc", of: s.areas((*order).averagePrecision), heavy: heavy},
		{name: "log_loss", of: s.mean(s.logLosses)},
		{name: "brier", of: s.mean(s.briers)},
		{name: "calibration_error", of: s.calibrationError, apart: s.calibrationApart()},
		{name: "sensitivity", of: s.counted(sensitivity)},
		{name: "specificity", of: s.counted(specificity)},
		{name: "precision", of: s.counted(precision)},
		{name: "f1", of: s.counted(f1)},
	}
}

// areas is a figure of ranks: of class 1 of two, else the mean over classes that occur.
func (s *Predictions) areas(f func(*order, []int32) (float64, error)) func([]int32) (float64, error) {
	return func(w []int32) (float64, error) {
		if s.broken {
			return 0, notFinite
		}
		var sum, classes float64
		for k := range s.orders {
			if s.classes == 2 && k == 0 {
				continue
			}
			v, err := f(&s.orders[k], w)
			if err == nil {
				sum += v
				classes++
			}
		}
		if classes == 0 {
			return 0, oneClass
		}
		return sum / classes, nil
	}
}

// lose computes the losses of each record.
func (s *Predictions) lose() {
	for row := range s.labels {
		s.logLosses = append(s.logLosses, s.logLoss(row))
		s.briers = append(s.briers, s.brier(row))
	}
}

// mean is that of losses of records.
func (s *Predictions) mean(losses []float64) func([]int32) (float64, error) {
	return func(w []int32) (float64, error) {
		if err := s.uncalibrated(); err != nil {
			return 0, err
		}
		var sum, n float64
		for i, c := range w {
			if c > 0 {
				sum += float64(c) * losses[i]
				n += float64(c)
			}
		}
		return sum / n, nil
	}
}

// uncalibrated says why there are no probabilities.
func (s *Predictions) uncalibrated() error {
	switch {
	case s.broken:
		return notFinite
	case s.p == nil:
		return onlyRanks
	}
	return nil
}

// of returns the probabilities of a record.
func (s *Predictions) of(row int) []float64 { return s.p[row*s.classes : (row+1)*s.classes] }

func (s *Predictions) logLoss(row int) float64 {
	// no negative zero: a sum within 1e-6 of 1 may have a term above 1
	return -math.Log(min(1, max(LeastProbability, s.of(row)[s.labels[row]])))
}

func (s *Predictions) brier(row int) float64 {
	var sum float64
	for k, p := range s.of(row) {
		if s.classes == 2 && k == 0 {
			continue
		}
		if int32(k) == s.labels[row] {
			p--
		}
		sum += p * p
	}
	return sum
}
