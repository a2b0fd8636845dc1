package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/agent"
	"sotto/experiment/rundir"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/tensor"
)

// evaluation is one look at all agents' models.
type evaluation struct {
	Round     uint64
	Accuracy  *rundir.Stats // nil for regression
	Loss      rundir.Stats
	Consensus float64
	Epsilon   float64 // the worst agent's upper bound so far
}

// metricRows are the rows of one round.
type metricRows struct {
	round   uint64
	worst   float64   // epsilon of the agent that has spent most
	epsilon []float64 // by agent
	delta   float64
	each    bool // every agent has a row of its own
	rows    []rundir.Row
}

func (m *metricRows) row(agent, metric string, value, epsilon float64) {
	m.rows = append(m.rows, rundir.Row{
		Round:   m.round,
		Agent:   agent,
		Metric:  metric,
		Value:   value,
		Epsilon: epsilon,
		Delta:   m.delta,
	})
}

// all enters a figure of all agents together.
func (m *metricRows) all(metric string, value float64) { m.row("all", metric, value, m.worst) }

// add enters the values of agents, and what they are in the mean and at most and least.
func (m *metricRows) add(metric string, agents []int, values []float64) {
	if m.each {
		for k, i := range agents {
			m.row(strconv.Itoa(i), metric, values[k], m.epsilon[i])
		}
	}
	s := rundir.StatsOf(values)
	m.row("mean", metric, s.Mean, m.worst)
	m.row("min", metric, s.Min, m.worst)
	m.row("max", metric, s.Max, m.worst)
}

// evaluate tests every honest agent's model on its test records and returns the rows of
// this round.
func (e *Experiment) evaluate(w *world, workers int, epsilon []float64) (evaluation, []rundir.Row) {
	n := len(e.Task.Tested)
	acc, loss := make([]float64, n), make([]float64, n)
	parallel.With(n, workers, func(k int, scratch *model.Workspace) error {
		i := e.Task.Tested[k]
		ev := model.Evaluate(e.Task.Model, w.Sim.Model(i), e.Task.Tests[i], scratch)
		acc[k] = float64(ev.Correct) / float64(max(1, ev.Samples))
		loss[k] = ev.Loss
		return nil
	})
	ev := evaluation{
		Round:     w.Sim.Done(),
		Loss:      rundir.StatsOf(loss),
		Consensus: e.consensus(w),
		Epsilon:   rundir.StatsOf(epsilon).Max,
	}
	if e.File.Pacing == agent.PacingTokens { // a token has been at many agents: the worst one's
		epsilon = slices.Repeat([]float64{ev.Epsilon}, n)
	}
	delta := e.File.Privacy.TargetDelta
	if !e.Private() {
		delta = 0
	}
	everyone := e.Task.Tested
	out := metricRows{round: ev.Round, worst: ev.Epsilon, epsilon: epsilon, delta: delta,
		each: n <= rundir.SummaryThreshold}
	add, all := out.add, out.all
	if e.Classifies() {
		s := rundir.StatsOf(acc)
		ev.Accuracy = &s
		add("accuracy", everyone, acc)
	}
	add("loss", everyone, loss)
	if e.File.Evaluate.RMSE {
		for k := range loss {
			loss[k] = math.Sqrt(loss[k])
		}
		add(rundir.RMSE, everyone, loss)
	}
	if with, clips := w.clips(everyone); clips != nil {
		add("clip", with, clips)
	}
	if e.File.Evaluate.Estimation {
		own, mean := e.estimate(w)
		add(estimationMetric, everyone, own)
		all(estimationMetric, mean)
		if x, ok := e.noiseFree(w); ok {
			all(noiseFreeMetric, x)
		}
	}
	all("consensus_distance", ev.Consensus)
	out.rows = append(out.rows, e.gradients(w, ev.Round, ev.Epsilon, delta)...)
	if e.File.Pacing == agent.PacingTokens {
		all("vectors_sent", w.Sim.Stats().Vectors)
	}
	if e.File.Pacing.Clocked() {
		all("objective", e.objective(w, workers))
		all("vectors_sent", w.Sim.Stats().Vectors)
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
				add(rundir.ClassAccuracy+strconv.Itoa(c), with, slices.DeleteFunc(byAgent, math.IsNaN))
			}
		}
	}
	return ev, out.rows
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
		e.Task.Model.Predict(out, w.Sim.Model(i), tests.X, scratch)
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
		sum += distance2(w.Sim.Model(i), mean)
	}
	return math.Sqrt(sum / float64(len(agents)))
}

// meanModel is the mean of the honest agents' models.
func (e *Experiment) meanModel(w *world) []float64 {
	agents := e.Honest()
	n := len(agents)
	mean := make([]float64, e.Task.Model.Dim())
	for _, i := range agents {
		for k, x := range w.Sim.Model(i) {
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
		rundir.FormatEpsilon(ev.Epsilon))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
