package metric

import (
	"math"
	"slices"
	"strconv"

	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// Names of metrics of test records.
const (
	Accuracy = "accuracy"
	Loss     = "loss"
)

// tests are the tested agents' models on their test records: the share of right answers
// of a classifier, the mean loss and, where asked for, its root.
var tests = probe{
	name: "tests",
	on:   always,
	measure: func(s *Scene, out *Rows) {
		tested := s.Tests.Tested
		acc, loss := make([]float64, len(tested)), make([]float64, len(tested))
		s.Crew.Do(len(tested), func(k int, scratch *model.Workspace) error {
			i := tested[k]
			ev := model.Evaluate(s.Model, s.Sim.Model(i), s.Tests.Batches[i], scratch)
			acc[k] = float64(ev.Correct) / float64(max(1, ev.Samples))
			loss[k] = ev.Loss
			return nil
		})
		if s.Tests.Classify {
			out.add(Accuracy, tested, acc)
		}
		out.add(Loss, tested, loss)
		if s.Params.RMSE {
			for k := range loss {
				loss[k] = math.Sqrt(loss[k])
			}
			out.add(rundir.RMSE, tested, loss)
		}
	},
}

// classes is the accuracy of each class, after the last round.
var classes = probe{
	name: "classes",
	on:   func(s *Scene) bool { return s.Tests.Classify && s.Sim.Done() == s.Run.Steps },
	measure: func(s *Scene, out *Rows) {
		for c, byAgent := range s.classAccuracies() {
			var with []int
			for k, i := range s.Tests.Tested {
				if !math.IsNaN(byAgent[k]) {
					with = append(with, i)
				}
			}
			if len(with) > 0 {
				out.add(rundir.ClassAccuracy+strconv.Itoa(c), with, slices.DeleteFunc(byAgent, math.IsNaN))
			}
		}
	},
}

// classAccuracies returns every tested agent's accuracy on its test records of each
// class, by class and agent; NaN where it has none.
func (s *Scene) classAccuracies() [][]float64 {
	n, classes := len(s.Tests.Tested), s.Records.Split.Train.Classes
	of := make([][]float64, classes)
	for c := range of {
		of[c] = make([]float64, n)
	}
	s.Crew.Do(n, func(k int, scratch *model.Workspace) error {
		i := s.Tests.Tested[k]
		tests := s.Tests.Batches[i]
		out := tensor.NewMat(tests.Len(), s.Model.Outputs())
		s.Model.Predict(out, s.Sim.Model(i), tests.X, scratch)
		right, all := make([]int, classes), make([]int, classes)
		for r, label := range tests.Labels {
			all[label]++
			if predicted(out.Row(r)) == label {
				right[label]++
			}
		}
		for c := range of {
			of[c][k] = float64(right[c]) / float64(all[c])
		}
		return nil
	})
	return of
}

// predicted is the class that outputs stand for, by the rule of model.Evaluate: the first
// of the largest, or by its sign where there is one.
func predicted(outputs []float32) int32 {
	best := 0
	for j, v := range outputs {
		if v > outputs[best] {
			best = j
		}
	}
	if len(outputs) == 1 && outputs[0] > 0 {
		best = 1
	}
	return int32(best)
}
