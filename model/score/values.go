package score

import (
	"math"

	"sotto/config"
)

// Values are a regression's predictions, with the targets. It is immutable, and keeps the
// slices that it is made of.
type Values struct {
	predicted, targets []float64
	broken             bool // a prediction is not finite
	counts             bool // targets are counts, predictions their means
}

// Regression takes one prediction for each target. Targets must be finite, else it is a
// config.Error. Where a prediction is not finite, all figures are undefined.
func Regression(predicted, targets []float64) (*Values, error) {
	if len(predicted) != len(targets) {
		return nil, config.Bad("predictions", len(predicted), "one for each target")
	}
	s := &Values{predicted: predicted, targets: targets}
	for i, y := range targets {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, config.Bad("target", y, "a finite number")
		}
		s.broken = s.broken || math.IsNaN(predicted[i]) || math.IsInf(predicted[i], 0)
	}
	return s, nil
}

// Counts is Regression of counts, which has two figures more. They are undefined where a
// target is below 0.
func Counts(predicted, targets []float64) (*Values, error) {
	s, err := Regression(predicted, targets)
	if err == nil {
		s.counts = true
	}
	return s, err
}

// MeanCount is Mean of counts.
func MeanCount(training, targets []float64) (*Values, error) {
	s, err := Mean(training, targets)
	if err != nil {
		return nil, err
	}
	return Counts(s.predicted, targets)
}

// Mean is the model that knows nothing but the targets of a training set: it predicts
// their mean. There must be at least one. Other errors are those of Regression.
func Mean(training, targets []float64) (*Values, error) {
	if len(training) == 0 {
		return nil, config.Bad("training targets", 0, "at least one")
	}
	var mean float64
	for i, y := range training {
		mean += (y - mean) / float64(i+1)
	}
	predicted := make([]float64, len(targets))
	for i := range predicted {
		predicted[i] = mean
	}
	return Regression(predicted, targets)
}

// Records implements Scored.
func (s *Values) Records() int { return len(s.targets) }

func (s *Values) measures() []measure {
	all := []measure{{name: "r2", of: s.r2}, {name: "mae", of: s.mae}, {name: "rmse", of: s.rmse}}
	if s.counts {
		all = append(all, measure{name: "deviance", of: s.deviance}, measure{name: "mean_ratio", of: s.ratio})
	}
	return all
}

// mean is that of f over records.
func (s *Values) mean(w []int32, f func(row int) float64) float64 {
	var sum, n float64
	for i, c := range w {
		if c > 0 {
			sum += float64(c) * f(i)
			n += float64(c)
		}
	}
	return sum / n
}

func (s *Values) square(row int) float64 {
	r := s.targets[row] - s.predicted[row]
	return r * r
}

func (s *Values) r2(w []int32) (float64, error) {
	if s.broken {
		return 0, notFinite
	}
	first, same := math.NaN(), true
	for i, c := range w {
		if c == 0 {
			continue
		}
		if math.IsNaN(first) {
			first = s.targets[i]
		}
		same = same && s.targets[i] == first
	}
	if same {
		return 0, oneTarget
	}
	mean := s.mean(w, func(row int) float64 { return s.targets[row] })
	spread := s.mean(w, func(row int) float64 {
		return (s.targets[row] - mean) * (s.targets[row] - mean)
	})
	return 1 - s.mean(w, s.square)/spread, nil
}

func (s *Values) mae(w []int32) (float64, error) {
	if s.broken {
		return 0, notFinite
	}
	return s.mean(w, func(row int) float64 { return math.Abs(s.targets[row] - s.predicted[row]) }), nil
}

func (s *Values) rmse(w []int32) (float64, error) {
	if s.broken {
		return 0, notFinite
	}
	return math.Sqrt(s.mean(w, s.square)), nil
}

// deviance is Σ 2 (y ln(y/m) - y + m)/n of counts y and predicted means m.
func (s *Values) deviance(w []int32) (float64, error) {
	if s.broken {
		return 0, notFinite
	}
	for i, c := range w {
		if c > 0 && s.targets[i] < 0 {
			return 0, negative
		}
		if m := s.predicted[i]; c > 0 && (m < 0 || m == 0 && s.targets[i] > 0) {
			return 0, noMean
		}
	}
	return s.mean(w, func(row int) float64 {
		y, m := s.targets[row], s.predicted[row]
		if y == 0 {
			return 2 * m
		}
		return 2 * (y*math.Log(y/m) - y + m)
	}), nil
}

// ratio is the mean prediction over the mean target.
func (s *Values) ratio(w []int32) (float64, error) {
	if s.broken {
		return 0, notFinite
	}
	target := s.mean(w, func(row int) float64 { return s.targets[row] })
	for i, c := range w {
		if c > 0 && s.targets[i] < 0 {
			return 0, negative
		}
	}
	if target == 0 {
		return 0, noCount
	}
	return s.mean(w, func(row int) float64 { return s.predicted[row] }) / target, nil
}
