package score

import (
	"math"
	"sync"
)

// tally is what figures of predicted classes are made of, for one class.
type tally struct{ both, label, predicted, all int64 }

// tallies counts records, by class.
func (s *Predictions) tallies(w []int32) []tally {
	t := make([]tally, s.classes)
	var all int64
	for i, c := range w {
		n, y, p := int64(c), s.labels[i], s.predicted[i]
		all += n
		t[y].label += n
		t[p].predicted += n
		if y == p {
			t[y].both += n
		}
	}
	for k := range t {
		t[k].all = all
	}
	return t
}

func (s *Predictions) accuracy(w []int32) (float64, error) {
	var both, all int64
	for i, c := range w {
		all += int64(c)
		if s.labels[i] == s.predicted[i] {
			both += int64(c)
		}
	}
	return ratio(both, all, noRecords)
}

func sensitivity(t *tally) (float64, error) { return ratio(t.both, t.label, noPositive) }

func specificity(t *tally) (float64, error) {
	return ratio(t.all-t.label-t.predicted+t.both, t.all-t.label, noNegative)
}

func precision(t *tally) (float64, error) { return ratio(t.both, t.predicted, nonePicked) }

func f1(t *tally) (float64, error) { return ratio(2*t.both, t.label+t.predicted, noF1) }

// counted is a figure of class 1 of two, else the mean over classes that occur. What is
// undefined there is either a precision that counts as 0, or a specificity where all
// records have one class.
func (s *Predictions) counted(f func(*tally) (float64, error)) func([]int32) (float64, error) {
	return func(w []int32) (float64, error) {
		t := s.tallies(w)
		if s.classes == 2 {
			return f(&t[1])
		}
		var sum, classes float64
		for k := range t {
			if t[k].label == 0 {
				continue
			}
			v, err := f(&t[k])
			if err == noNegative {
				return 0, oneClass
			}
			sum += v
			classes++
		}
		if classes == 0 {
			return 0, noRecords
		}
		return sum / classes, nil
	}
}

// Bins is how many bins the calibration has.
const Bins = 10

// Bin is the records of equal predicted probability, nearly: those with Low <= p < High,
// the last one with p = 1 too. p is the probability of class 1 of two classes, and else
// that of the predicted class.
type Bin struct {
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Records int     `json:"records"`
	Mean    float64 `json:"predicted"` // mean of p
	Share   float64 `json:"observed"`  // share of class 1, or of records that are predicted rightly
}

// Calibration returns the bins that have records: the reliability curve of Bins bins of
// equal width. It is Undefined for a model without probabilities and where there are no
// records.
func (s *Predictions) Calibration() ([]Bin, error) {
	if s.Records() == 0 {
		return nil, noRecords
	}
	if err := s.uncalibrated(); err != nil {
		return nil, err
	}
	var bins []Bin
	for k, b := range s.bins(ones(s.Records())) {
		if b.n == 0 {
			continue
		}
		bins = append(bins, Bin{Low: float64(k) / Bins, High: float64(k+1) / Bins, Records: int(b.n),
			Mean: b.p / b.n, Share: b.hits / b.n})
	}
	return bins, nil
}

// bin is sums over its records.
type bin struct{ n, p, hits float64 }

func (s *Predictions) bins(w []int32) (bins [Bins]bin) {
	for i, c := range w {
		class := int32(1)
		if s.classes > 2 {
			class = s.predicted[i]
		}
		p, n := s.of(i)[class], float64(c)
		b := &bins[min(Bins-1, int(p*Bins))]
		b.n += n
		b.p += n * p
		if s.labels[i] == class {
			b.hits += n
		}
	}
	return bins
}

func (s *Predictions) calibrationError(w []int32) (float64, error) {
	if err := s.uncalibrated(); err != nil {
		return 0, err
	}
	var sum, n float64
	for _, b := range s.bins(w) {
		n += b.n
		sum += max(b.p-b.hits, b.hits-b.p)
	}
	return sum / n, nil
}

// The calibration error, and the difference of two, are within these.
var (
	withinError      = [2]float64{0, 1}
	withinDifference = [2]float64{-1, 1}
)

// calibrationApart is the sum over bins of how far a bin's part of the calibration error,
// with its sign, is from that of all records. The error is no further away than that,
// from the truth as from a resample.
func (s *Predictions) calibrationApart() func(w []int32) (float64, error) {
	all := sync.OnceValue(func() [Bins]bin { return s.bins(ones(s.Records())) })
	return func(w []int32) (float64, error) {
		if err := s.uncalibrated(); err != nil {
			return 0, err
		}
		var sum, n float64
		bins, of := s.bins(w), all()
		for _, b := range bins {
			n += b.n
		}
		for k, b := range bins {
			sum += math.Abs((b.p-b.hits)/n - (of[k].p-of[k].hits)/float64(s.Records()))
		}
		return sum, nil
	}
}
