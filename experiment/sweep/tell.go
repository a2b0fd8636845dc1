package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/report"
)

// mostGrid is the number of cells up to which a stream lists their values beforehand.
const mostGrid = 5000

// tell opens the stream of the sweep, of this shard where there are several.
func (w *sweeping) tell(name string) error {
	s := w.opt.Events
	if s == nil {
		s = event.NewStream(event.Simulated)
	}
	w.opt.Events = s
	file := event.File
	if w.opt.Shards > 1 {
		file = fmt.Sprintf("events-%d-of-%d.jsonl", w.opt.Shard, w.opt.Shards)
	}
	if err := s.Keep(filepath.Join(w.dir, file), 0o644); err != nil {
		return err
	}
	what := event.OfSweep
	if w.opt.Dir != "" {
		what = event.OfReproduce
	}
	s.Emit(&event.Begin{What: what, Name: name, Command: w.opt.Command, Dir: filepath.ToSlash(w.dir),
		Unit: "cell", Of: uint64(len(w.cells)), Engine: experiment.EngineVersion})
	g := &event.Grid{Axes: w.s.Axes}
	if len(w.s.cells) <= mostGrid {
		for _, c := range w.s.cells {
			g.Cells = append(g.Cells, c.Values)
		}
	}
	s.Emit(g)
	return nil
}

// begun says that a cell runs.
func (w *sweeping) begun(i int, e *experiment.Experiment) {
	w.opt.Events.Emit(&event.Cell{Cell: i, State: event.Running, Values: w.s.cells[i].Values,
		Dir: "runs/" + run.Name(e) + rundir.PartialSuffix})
}

// stands says that a cell has a row, from this process or an earlier one.
func (w *sweeping) stands(row *Row, dir string, seconds float64) {
	c := &event.Cell{Cell: row.Cell, State: event.Done, Values: row.Values,
		Figures: map[string]jsonfloat.Float{}}
	for name, x := range map[string]float64{"accuracy": row.Accuracy.Mean, "accuracy min": row.Accuracy.Min,
		"accuracy max": row.Accuracy.Max, "loss": row.Loss, "rmse": row.RMSE, "epsilon": row.EpsilonUpper} {
		if !math.IsNaN(x) {
			c.Figures[name] = jsonfloat.Float(x)
		}
	}
	if seconds > 0 {
		c.Figures["seconds"] = jsonfloat.Float(seconds)
	}
	if dir != "" && !w.opt.Discard {
		w.runs[row.Cell] = dir
		if below, err := filepath.Rel(w.dir, dir); err == nil {
			c.Dir = filepath.ToSlash(below)
		}
	}
	w.opt.Events.Emit(c)
}

// progress says how many cells are done.
func (w *sweeping) progress(left time.Duration) {
	w.opt.Events.Emit(&event.Progress{Done: uint64(w.done), Of: uint64(len(w.cells)),
		Left: math.Round(left.Seconds())})
}

// mostPaged is of how many runs a sweep makes its page by itself.
const mostPaged = 200

// page makes the page of the runs of all rows in the sweep's directory, and returns its
// name there; "" where the runs are elsewhere, not kept or kept no more, or too many for
// one.
func (w *sweeping) page() (string, error) {
	if w.opt.Dir != "" || w.opt.Discard || w.opt.Shards > 1 ||
		len(w.cells) > mostPaged {
		return "", nil
	}
	dirs := slices.Sorted(maps.Values(w.runs))
	gone := func(dir string) bool { return !rundir.Stands(filepath.Join(dir, rundir.SummaryFile)) }
	if len(dirs) < len(w.cells) || slices.ContainsFunc(dirs, gone) {
		return "", nil
	}
	b, _, err := report.Read(experiment.EngineVersion, dirs)
	if err != nil {
		return "", err
	}
	return rundir.ReportFile, atomicfile.Write(filepath.Join(w.dir, rundir.ReportFile), b)
}

// ended closes the stream. page is the name of the page that stays.
func (w *sweeping) ended(page string, err error) error {
	end := &event.End{State: event.Done, Dir: filepath.ToSlash(w.dir), Page: page}
	var stop *stopped
	switch {
	case errors.As(err, &stop):
		end.State, end.Text = event.Interrupted, err.Error()
	case err != nil:
		end.State, end.Text = event.Failed, err.Error()
	}
	w.opt.Events.Emit(end)
	return errors.Join(err, w.opt.Events.Close())
}

// stopped is the error of a sweep whose context has ended.
type stopped struct {
	cause    error
	done, of int
}

func (e *stopped) Error() string {
	return fmt.Sprintf("%v: %d of %d cells are done; the same command goes on", e.cause, e.done, e.of)
}

func (e *stopped) Unwrap() error { return e.cause }
