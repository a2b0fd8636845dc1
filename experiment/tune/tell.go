package tune

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
)

// tell opens the stream of the search. A charged search says that a trial is done and
// nothing of it: its trials, their number and their scores are secret.
func (w *searching) tell(name string) error {
	s := w.opt.Events
	if s == nil {
		s = event.NewStream(event.Simulated)
	}
	w.opt.Events = s
	if err := s.Keep(filepath.Join(w.dir, event.File), 0o644); err != nil {
		return err
	}
	b := &event.Begin{What: event.OfTune, Name: name, Command: w.opt.Command, Dir: filepath.ToSlash(w.dir),
		Unit: "trial", Engine: experiment.EngineVersion}
	g := &event.Grid{Score: w.t.p.Metric}
	for _, d := range w.t.space {
		g.Axes = append(g.Axes, d.key)
	}
	if !w.hushed() {
		b.Of = uint64(w.t.total())
	}
	s.Emit(b)
	s.Emit(g)
	return nil
}

func (w *searching) hushed() bool { return w.t.cost == experiment.CostCharged }

// begun says that a trial of a random search runs.
func (w *searching) begun(n int, values []string, e *experiment.Experiment) {
	if !w.hushed() {
		w.opt.Events.Emit(&event.Cell{Cell: n - 1, State: event.Running, Values: values,
			Dir: "runs/" + run.Name(e) + rundir.PartialSuffix})
	}
}

// done says that a trial, or a member of a generation, has its score.
func (w *searching) scored(row *Trial, seconds float64) {
	if w.hushed() {
		w.opt.Events.Emit(&event.Note{Text: "one more trial is done; trials, their number and their scores " +
			"are secret"})
		return
	}
	cell := row.Trial - 1
	if w.t.p.Method == methodPBT {
		cell += (row.Generation - 1) * w.t.p.Population
	}
	c := &event.Cell{Cell: cell, State: event.Done, Values: row.Values, Dir: row.Run,
		Figures: map[string]jsonfloat.Float{}}
	for name, x := range map[string]float64{"score": row.Score, "accuracy": row.Accuracy, "loss": row.Loss,
		"epsilon": row.Epsilon, "seconds": cmp.Or(seconds, math.NaN())} {
		if !math.IsNaN(x) {
			c.Figures[name] = jsonfloat.Float(x)
		}
	}
	w.opt.Events.Emit(c)
	w.opt.Events.Emit(&event.Progress{Done: uint64(w.done), Of: uint64(w.t.total())})
}

// ended closes the stream.
func (w *searching) ended(err error, stopped bool) error {
	end := &event.End{State: event.Done, Dir: filepath.ToSlash(w.dir), Page: rundir.ReportFile}
	if err != nil {
		end.State, end.Text, end.Page = event.Failed, err.Error(), ""
	}
	if stopped {
		end.State = event.Interrupted
	}
	w.opt.Events.Emit(end)
	return errors.Join(err, w.opt.Events.Close())
}
