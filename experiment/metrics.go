package experiment

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/agent"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/tensor"
)

// Row is one line of metrics.csv. Agent is an agent's number, or one of mean, min, max,
// all.
type Row struct {
	Round uint64 `json:"round"`
	Agent string `json:"agent"`
	// accuracy, loss, rmse, estimation_rmse, clip, consensus_distance, those of
	// [evaluate] gradients; after the last round class_accuracy.<class> too
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`
	Epsilon float64 `json:"epsilon"` // upper bound of what the agent (or the worst agent) has spent so far
	Delta   float64 `json:"delta"`
}

var metricsHeader = []string{"round", "agent", "metric", "value", "epsilon", "delta"}

// encodeMetrics writes rows as CSV with shortest round-trip floats.
func encodeMetrics(rows []Row) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(metricsHeader)
	for _, r := range rows {
		w.Write([]string{strconv.FormatUint(r.Round, 10), r.Agent, r.Metric, number(r.Value),
			number(r.Epsilon), number(r.Delta)})
	}
	w.Flush() // a bytes.Buffer takes everything
	return b.Bytes()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Spread is a figure over agents.
type Spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

func spreadOf(xs []float64) Spread {
	s := Spread{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, x := range xs {
		s.Mean += x / float64(len(xs))
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	}
	return s
}

// evaluation is one look at all agents' models.
type evaluation struct {
	Round     uint64
	Accuracy  *Spread // nil for regression
	Loss      Spread
	Consensus float64
	Epsilon   float64 // the worst agent's upper bound so far
}

// manyAgents is the number above which files hold summaries instead of one line for each
// agent.
const manyAgents = 1000

// evaluate tests every honest agent's model on its test records and returns the rows of
// this round.
func (e *Experiment) evaluate(w *world, workers int, epsilon []float64) (evaluation, []Row) {
	n := len(e.Task.Tested)
	acc, loss := make([]float64, n), make([]float64, n)
	parallel.With(n, workers, func(k int, scratch *model.Workspace) error {
		i := e.Task.Tested[k]
		ev := model.Evaluate(e.Task.Model, w.Sim.Params(i), e.Task.Tests[i], scratch)
		acc[k] = float64(ev.Correct) / float64(max(1, ev.Samples))
		loss[k] = ev.Loss
		return nil
	})
	ev := evaluation{
		Round:     w.Sim.Round(),
		Loss:      spreadOf(loss),
		Consensus: e.consensus(w),
		Epsilon:   spreadOf(epsilon).Max,
	}
	if e.File.Pacing == agent.PacingTokens { // a token has been at many agents: the worst one's
		epsilon = slices.Repeat([]float64{ev.Epsilon}, n)
	}
	delta := e.File.Privacy.TargetDelta
	if !e.Private() {
		delta = 0
	}
	var rows []Row
	everyone := e.Task.Tested
	add := func(metric string, agents []int, values []float64) {
		s := spreadOf(values)
		if n <= manyAgents {
			for k, i := range agents {
				rows = append(rows, Row{ev.Round, strconv.Itoa(i), metric, values[k], epsilon[i], delta})
			}
		}
		for _, r := range []struct {
			name  string
			value float64
		}{{"mean", s.Mean}, {"min", s.Min}, {"max", s.Max}} {
			rows = append(rows, Row{ev.Round, r.name, metric, r.value, ev.Epsilon, delta})
		}
	}
	if e.Classifies() {
		s := spreadOf(acc)
		ev.Accuracy = &s
		add("accuracy", everyone, acc)
	}
	add("loss", everyone, loss)
	if e.File.Evaluate.RMSE {
		for k := range loss {
			loss[k] = math.Sqrt(loss[k])
		}
		add(rmseColumn, everyone, loss)
	}
	if with, clips := w.clips(everyone); clips != nil {
		add("clip", with, clips)
	}
	if e.File.Evaluate.Estimation {
		own, mean := e.estimate(w)
		add(estimationMetric, everyone, own)
		rows = append(rows, Row{ev.Round, "all", estimationMetric, mean, ev.Epsilon, delta})
		if x, ok := e.noiseFree(w); ok {
			rows = append(rows, Row{ev.Round, "all", noiseFreeMetric, x, ev.Epsilon, delta})
		}
	}
	rows = append(rows, Row{ev.Round, "all", "consensus_distance", ev.Consensus, ev.Epsilon, delta})
	rows = append(rows, e.gradients(w, ev.Round, ev.Epsilon, delta)...)
	if e.File.Pacing == agent.PacingTokens {
		rows = append(rows, Row{ev.Round, "all", "vectors_sent", w.Sim.Stats().Vectors, ev.Epsilon, delta})
	}
	if e.File.Pacing.Clocked() {
		rows = append(rows, Row{ev.Round, "all", "objective", e.objective(w, workers), ev.Epsilon, delta},
			Row{ev.Round, "all", "vectors_sent", w.Sim.Stats().Vectors, ev.Epsilon, delta})
	}
	if e.Classifies() && ev.Round == e.File.Steps {
		for c, byAgent := range e.classAccuracies(w, workers) {
			var with []int
			for k, i := range everyone {
				if !math.IsNaN(byAgent[k]) {
					with = append(with, i)
				}
			}
			if len(with) > 0 {
				add(classMetric+strconv.Itoa(c), with, slices.DeleteFunc(byAgent, math.IsNaN))
			}
		}
	}
	return ev, rows
}

// clips are the clips of those of the given agents whose clips change.
func (w *world) clips(agents []int) (with []int, clips []float64) {
	for _, i := range agents {
		if i >= len(w.agents) { // a token
			return nil, nil
		}
		if a, ok := w.agents[i].Algorithm.(interface{ Clip() float64 }); ok {
			with, clips = append(with, i), append(clips, a.Clip())
		}
	}
	return with, clips
}

// Classifies says that the model's outputs stand for classes, so that it has an accuracy.
func (e *Experiment) Classifies() bool {
	return e.Task.Split.Train.Classes > 0 && !model.Reconstructs(e.Task.Model)
}

// classMetric begins the metric of one class's accuracy; the class's number follows.
const classMetric = "class_accuracy."

// classAccuracies returns every tested agent's accuracy on its test records of each
// class, by class and agent; NaN where it has none.
func (e *Experiment) classAccuracies(w *world, workers int) [][]float64 {
	n, classes := len(e.Task.Tested), e.Task.Split.Train.Classes
	of := make([][]float64, classes)
	for c := range of {
		of[c] = make([]float64, n)
	}
	parallel.With(n, workers, func(k int, scratch *model.Workspace) error {
		i := e.Task.Tested[k]
		tests := e.Task.Tests[i]
		out := tensor.NewMat(tests.Len(), e.Task.Model.Outputs())
		e.Task.Model.Predict(out, w.Sim.Params(i), tests.X, scratch)
		right, all := make([]int, classes), make([]int, classes)
		for s, label := range tests.Labels {
			all[label]++
			if predicted(out.Row(s)) == label {
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

// consensus is the root mean square distance of the honest agents' parameters from their
// mean.
func (e *Experiment) consensus(w *world) float64 {
	agents, mean := e.Honest(), e.meanModel(w)
	sum := 0.
	for _, i := range agents {
		sum += distance2(w.Sim.Params(i), mean)
	}
	return math.Sqrt(sum / float64(len(agents)))
}

// meanModel is the mean of the honest agents' models.
func (e *Experiment) meanModel(w *world) []float64 {
	agents := e.Honest()
	n := len(agents)
	mean := make([]float64, e.Task.Model.Dim())
	for _, i := range agents {
		for k, x := range w.Sim.Params(i) {
			mean[k] += float64(x)
		}
	}
	for k := range mean {
		mean[k] /= float64(n)
	}
	return mean
}

func distance2(x tensor.Vec, y []float64) float64 {
	s := 0.
	for k, v := range x {
		d := float64(v) - y[k]
		s += d * d
	}
	return s
}

func (ev *evaluation) String() string {
	acc := ""
	if ev.Accuracy != nil {
		acc = fmt.Sprintf("accuracy %.2f %% (%.2f to %.2f)  ", 100*ev.Accuracy.Mean, 100*ev.Accuracy.Min,
			100*ev.Accuracy.Max)
	}
	return fmt.Sprintf("%sloss %.4f  consensus %.4g  epsilon %s", acc, ev.Loss.Mean, ev.Consensus,
		FormatEpsilon(ev.Epsilon))
}

func FormatEpsilon(x float64) string {
	if math.IsInf(x, 1) {
		return "infinite"
	}
	return strconv.FormatFloat(x, 'f', 4, 64)
}
