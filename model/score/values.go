package score

import (
	"math"

	"sotto/config"
)

// Values are a regression's predictions, with the targets. It is immutable.
type Values struct {
	predicted, targets []float64
	broken             bool // a prediction is not finite
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
	return []measure{{name: "r2", of: s.r2}, {name: "mae", of: s.mae}, {name: "rmse", of: s.rmse}}
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
