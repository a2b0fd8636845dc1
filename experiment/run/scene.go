package run

import (
	"fmt"

	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/rundir"
	"sotto/internal/parallel"
	"sotto/model"
)

// Scene is the simulation as it is now, for whoever may see all of it.
func (w *Simulation) Scene(workers int) (*metric.Scene, error) {
	e := w.e
	t, f := &e.Task, e.File
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	if w.lookers == nil {
		w.lookers = &parallel.Crew[model.Workspace]{Least: 1, Batch: 1,
			Scratch: func() *model.Workspace { return new(model.Workspace) }}
	}
	w.lookers.Workers = workers
	s := &metric.Scene{
		Run: metric.Run{
			Pacing:    f.Pacing,
			Walking:   f.Pace.Walking,
			Steps:     f.Steps,
			Delta:     e.Setup.Target.Delta,
			NoiseFree: e.Setup.NoiseFree,
		},
		Params:  &f.Evaluate.Params,
		Sim:     w.Sim,
		Model:   t.Model,
		Init:    t.Init,
		Records: metric.Records{Split: t.Split, Trained: w.trained, Parts: t.Parts},
		Tests: metric.Tests{Batches: t.Tests, Tested: t.Tested, Honest: e.Honest(),
			Classify: t.Classifies(), Persons: tested(e)},
		Graph: g,
		Crew:  w.lookers,
	}
	if !f.Private() {
		s.Run.Delta = 0
	}
	for _, p := range w.parties {
		s.Agents = append(s.Agents, metric.Agent{Algorithm: p.Algorithm, Bare: p.Bare, Oracles: p.Oracles})
	}
	return s, nil
}

// tested are the persons of the records that all models are tested on; nil where there
// are no persons, or no such records.
func tested(e *experiment.Experiment) []int32 {
	switch e.File.Evaluate.On {
	case "own":
		return nil
	case "validation":
		return e.Task.Validation.Units
	}
	return e.Task.Split.Test.Units
}

// evaluation is one look at all agents' models.
type evaluation struct {
	Round     uint64
	Accuracy  *rundir.Stats // nil for regression
	Loss      rundir.Stats
	Consensus float64
	Epsilon   float64 // the worst agent's upper bound so far
}

// evaluationOf finds what every run has among the rows of one look.
func evaluationOf(m *metric.Rows) evaluation {
	ev := evaluation{Round: m.Round, Loss: rundir.StatsIn(m.Rows, metric.Loss), Epsilon: m.Worst}
	for _, row := range m.Rows {
		switch row.Metric {
		case metric.Consensus:
			ev.Consensus = row.Value
		case metric.Accuracy:
			if ev.Accuracy == nil {
				s := rundir.StatsIn(m.Rows, metric.Accuracy)
				ev.Accuracy = &s
			}
		}
	}
	return ev
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
